import { channelType, isCloudflareGateway, rootUrl } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../dialect/provider.ts'
import { textOr } from '../../json/json-value.ts'

/**
 * Workers AI in OpenAI's dialect, at an address with the account in it. Source: Cloudflare's
 * documentation, "Workers AI: OpenAI compatible API endpoints" and "AI Gateway: Workers AI".
 */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/v1/chat/completions',
  embeddings: '/v1/embeddings',
  embedContent: '/v1/embeddings',
  batchEmbedContents: '/v1/embeddings',
}

export function cloudflareUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = rootUrl(channel.type, channel.baseUrl) || channelType(channel.type).baseUrl
  if (path === undefined || base === '') return null
  // The gateway has the account in its own address.
  if (isCloudflareGateway(base))
    return `${base.replace(/\/workers-ai(?:\/v1)?$/, '')}/workers-ai${path}`
  const account = textOr(channel.config?.user_id)
  if (account === '') return null
  return `${base}/client/v4/accounts/${encodeURIComponent(account)}/ai${path}`
}
