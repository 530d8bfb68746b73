import { bearerOf, upstreamUrl } from '../../../contract/channel-types.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import type { Provider, ProviderChannel, Task } from '../protocols/dialect/provider.ts'
import { openaiModelList } from './shared/model-list.ts'
import type { Vendor } from './vendor.ts'

/** What a vendor of OpenAI's dialect may declare beside the members of all vendors. */
interface OpenaiVendor extends Omit<Vendor, 'provider' | 'protocol'> {
  /**
   * Whether it has the Responses API, for all its models or for these. If not, calls of that API
   * are converted to chat.
   */
  readonly responses?: true | ReadonlySet<string>
  /** Differences from the usual call, for all calls or by model and task; null: none. */
  readonly call?:
    | Partial<Provider>
    | ((model: string, task: Task, capabilities: Capabilities) => Partial<Provider> | null)
}

/** Request paths of OpenAI's API. */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  // Requests of Gemini clients become one list of texts.
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

/** Whether the task asks for embeddings, in the words of any client. */
export const embeds = (task: Task): boolean => PATHS[task] === PATHS.embeddings

/** The key as the bearer. */
export const openaiHeaders = ({ type, key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${bearerOf(type, key).secret}`,
})

/** The usual call of OpenAI's API. */
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
 * Declares a vendor of OpenAI's dialect. What it wants otherwise is a change of a few members that
 * keeps the meaning (`call.edits`); what it has no member for it refuses itself.
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
