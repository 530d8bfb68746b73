import { channelType, isCloudflareGateway, rootUrl } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import { textOr } from '../../json/json-value.ts'
import { cloudflareMedia } from './media.ts'

/**
 * Workers AI in OpenAI's dialect, at a URL with the account, and tasks that only the models' own
 * URLs have. Source: Cloudflare's documentation, "Workers AI: OpenAI compatible API endpoints",
 * "REST API" and "AI Gateway: Workers AI".
 */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/v1/chat/completions',
  embeddings: '/v1/embeddings',
  embedContent: '/v1/embeddings',
  batchEmbedContents: '/v1/embeddings',
}

/** Model names contain slashes, which are not escaped in the URL. */
const MODEL = /^@?[\w.-]*[\w-](?:\/[\w.-]*[\w-])+$/

export function cloudflareUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const { task, model } = call
  const isMedia = cloudflareMedia(model, task) !== null
  if (isMedia && !MODEL.test(model)) return null
  const base = rootUrl(channel.type, channel.baseUrl) || channelType(channel.type).baseUrl
  if (base === '') return null
  // The URL of an AI Gateway already contains the account.
  if (isCloudflareGateway(base)) {
    const path = isMedia ? `/${model}` : PATHS[task]
    const gateway = `${base.replace(/\/workers-ai(?:\/v1)?$/, '')}/workers-ai`
    return path === undefined ? null : gateway + path
  }
  const path = isMedia ? `/run/${model}` : PATHS[task]
  const account = textOr(channel.config?.user_id)
  if (account === '' || path === undefined) return null
  return `${base}/client/v4/accounts/${encodeURIComponent(account)}/ai${path}`
}
