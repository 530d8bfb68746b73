import { bearerOf, upstreamUrl } from '../../../contract/channel-types.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import type { Provider, ProviderChannel, Task } from '../protocols/dialect/provider.ts'
import { openaiModelList } from './shared/model-list.ts'
import type { Vendor } from './vendor.ts'

/** Members that a vendor of OpenAI's dialect may declare beside those of all vendors. */
interface OpenaiVendor extends Omit<Vendor, 'provider' | 'protocol'> {
  /**
   * Whether the vendor has the Responses API, for all its models or for these. If not, calls of
   * that API are converted to chat.
   */
  readonly responses?: true | ReadonlySet<string>
  /**
   * Differences from OpenAI's provider, for all calls or by model and task; null for no
   * differences.
   */
  readonly call?:
    | Partial<Provider>
    | ((model: string, task: Task, capabilities: Capabilities) => Partial<Provider> | null)
}

/** Request paths of OpenAI's API. */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  // Embedding requests of Gemini clients become one list of texts.
  embedContent: '/v1/embeddings',
  batchEmbedContents: '/v1/embeddings',
  moderations: '/v1/moderations',
  images: '/v1/images/generations',
  imageEdits: '/v1/images/edits',
  speech: '/v1/audio/speech',
  transcriptions: '/v1/audio/transcriptions',
  translations: '/v1/audio/translations',
  rerank: '/v1/rerank',
  responses: '/v1/responses',
  compact: '/v1/responses/compact',
}

/** Whether the task requests embeddings, in any client's format. */
export const embeds = (task: Task): boolean => PATHS[task] === PATHS.embeddings

/** The key as a bearer token. */
export const openaiHeaders = ({ type, key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${bearerOf(type, key).secret}`,
})

/** Default call of OpenAI's API. */
function openaiProvider(responses: true | ReadonlySet<string> | undefined): Provider {
  const hasResponses = (model: string): boolean =>
    responses === true || responses?.has(model) === true
  return {
    dialect: 'openai',
    url({ type, baseUrl }, { task, model }) {
      const isResponse = task === 'responses' || task === 'compact'
      if (isResponse && !hasResponses(model)) return null
      const path = PATHS[task]
      return path === undefined ? null : upstreamUrl(type, baseUrl, path, model)
    },
    headers: openaiHeaders,
    asksForUsage: () => true,
  }
}

/**
 * Declares a vendor of OpenAI's dialect. Small differences are edits of members that keep the
 * meaning (`call.edits`); the vendor itself rejects what it does not support.
 */
export function openaiVendor({ responses, call = {}, ...declaration }: OpenaiVendor): Vendor {
  const usual = openaiProvider(responses)
  return {
    modelList: openaiModelList,
    ...declaration,
    protocol: 'openai',
    provider:
      typeof call === 'function'
        ? (model, task, capabilities) => ({ ...usual, ...call(model, task, capabilities) })
        : { ...usual, ...call },
  }
}
