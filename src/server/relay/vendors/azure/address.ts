import { isCloudflareGateway, rootUrl } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'

/**
 * Azure OpenAI: OpenAI's dialect with the operator's own deployments. Source: Azure OpenAI's REST
 * API reference; "API version lifecycle" for `v1`, where the body names the model again.
 */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: 'chat/completions',
  completions: 'completions',
  embeddings: 'embeddings',
  embedContent: 'embeddings',
  batchEmbedContents: 'embeddings',
  images: 'images/generations',
  imageEdits: 'images/edits',
  speech: 'audio/speech',
  transcriptions: 'audio/transcriptions',
  translations: 'audio/translations',
  responses: 'responses',
  compact: 'responses/compact',
}

const DEFAULT_VERSION = '2024-03-01-preview'
const VERSION_ONE = /^(?:v1|preview|latest)$/
/** First version with usage in streams; earlier versions reject `stream_options`. */
const USAGE_SINCE = '2024-09-01'

/** Base URL from Microsoft's documentation, which has only `v1`. */
const VERSION_ONE_ADDRESS = /\/openai\/v1$/i

/** API version; a version in the client's query takes precedence. */
function versionOf(channel: ProviderChannel, { clientQuery }: ProviderCall): string {
  if (VERSION_ONE_ADDRESS.test(channel.baseUrl)) return 'v1'
  return clientQuery.get('api-version') ?? (channel.apiVersion || DEFAULT_VERSION)
}

export function azureUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const path = PATHS[call.task]
  const base = rootUrl(channel.type, channel.baseUrl)
  if (path === undefined || base === '') return null
  const version = versionOf(channel, call)
  if (VERSION_ONE.test(version)) return `${base}/openai/v1/${path}`
  // The Responses API has neither a deployment nor a dated version in its URL.
  if (path.startsWith('responses')) return `${base}/openai/v1/${path}?api-version=preview`
  const query = `?api-version=${encodeURIComponent(version)}`
  // The URL of Cloudflare's AI Gateway already contains the deployment.
  if (isCloudflareGateway(base)) {
    return `${base}/${deploymentOf(channel, call.model)}/${path}${query}`
  }
  const deployment = path.startsWith('images/')
    ? encodeURIComponent(call.model)
    : deploymentOf(channel, call.model)
  return `${base}/openai/deployments/${deployment}/${path}${query}`
}

/**
 * Name of a model's deployment. Deployment names once could have no dots, so dots are removed
 * unless the channel says otherwise.
 */
function deploymentOf({ config }: ProviderChannel, model: string): string {
  const keepsDots = config?.['deployment_dots'] === 'keep'
  return encodeURIComponent(keepsDots ? model : model.replaceAll('.', ''))
}

export const azureHeaders = (channel: ProviderChannel): Record<string, string> => ({
  'api-key': channel.key,
})

export function azureAsksForUsage(channel: ProviderChannel, call: ProviderCall): boolean {
  const version = versionOf(channel, call)
  return VERSION_ONE.test(version) || version >= USAGE_SINCE
}
