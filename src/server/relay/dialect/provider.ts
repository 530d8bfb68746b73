import { channelType, type Protocol } from '../../../contract/channel-types.ts'
import { anthropicHeaders, anthropicUrl, COMPATIBLE } from '../anthropic/address.ts'
import { anthropicItself } from '../anthropic/refusals.ts'
import { azureAsksForUsage, azureHeaders, azureUrl } from '../azure/address.ts'
import type { UpstreamName } from '../canonical/chat-request.ts'
import { geminiHeaders, geminiUrl } from '../gemini/address.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { nativeProviders } from '../providers/native-providers.ts'
import { limitEdits, openaiFamily, takesOtherLimit } from '../providers/openai-family.ts'
import type { Seal, UpstreamRequest, Via } from '../transport/upstream-call.ts'
import type { Reading } from './metering.ts'
import type { Wire } from './wire.ts'

/**
 * How upstreams of one protocol are called: which dialect they speak, where each task is, and what
 * goes into the head. A new provider is a row in `providers`; a new task is a name in `Task` and an
 * address in the rows of those that have it.
 */
export interface Provider {
  dialect: UpstreamName
  /** How answers are read that mean more here than elsewhere; absent: as the dialect's. */
  reading?: Reading
  /** Where a task is; null: the upstream has no such call, or no address is known. */
  url(channel: ProviderChannel, call: ProviderCall): string | null
  /** `body`: in the provider's dialect, before its own edits; absent: there is none yet. */
  headers(channel: ProviderChannel, call: ProviderCall, body?: Buffer): Record<string, string>
  /** Whether a stream must be asked for its usage, in OpenAI's dialect. */
  asksForUsage(channel: ProviderChannel, call: ProviderCall): boolean
  /** How streams are laid out; absent: as server-sent events. */
  wire?: Wire
  /** What this provider wants otherwise in a body of its dialect, whoever wrote it. */
  edits?(body: ScannedBody, call: ProviderCall, channel: ProviderChannel): MemberEdit[]
  /** What must happen to a request before it goes out; absent: nothing. */
  seal?(channel: ProviderChannel, request: UpstreamRequest, nowSeconds: () => number): Seal
  /** How a call is made that takes more than one request; absent or null: as all others. */
  via?(channel: ProviderChannel, call: ProviderCall): Via | null
}

/** What the relay can ask of an upstream. */
export type Task =
  | 'chat'
  | 'completions'
  | 'embeddings'
  | 'moderations'
  | 'countTokens'
  | 'images'
  | 'imageEdits'
  | 'speech'
  | 'transcriptions'
  | 'translations'
  | 'rerank'
  | 'responses'
  /** A conversation in fewer words, for the Responses API to go on from. */
  | 'compact'
  /** Gemini's two ways to embed: one text, and several. */
  | 'embedContent'
  | 'batchEmbedContents'

/** What a provider knows of a channel. */
export interface ProviderChannel {
  type: number
  key: string
  /** Without a slash at its end; empty: the type's own. */
  baseUrl: string
  /** Version of the API, where the type's form asks for one; empty: the provider's usual. */
  apiVersion: string
  /** Members that the type's form asks for. */
  config?: JsonRecord
}

/** What a provider knows of a call. */
export interface ProviderCall {
  task: Task
  /** As the upstream calls it. */
  model: string
  isStream: boolean
  /** Query and headers of the client's own call, for the few that travel on. */
  clientQuery: URLSearchParams
  clientHeaders: Readonly<Record<string, string | string[] | undefined>>
  /** Where this server can be found, for providers that show their customers who called; or ''. */
  ownAddress: string
  /** Version of Gemini's API for channels that name none; absent: the usual one. */
  geminiVersion?: string
}

/** Of some protocols, the model, the task or the type decides how it is spoken with. */
export type ProviderRow = Provider | ((model: string, task: Task, type: number) => Provider)

const azure: Provider = {
  dialect: 'openai',
  url: azureUrl,
  headers: azureHeaders,
  asksForUsage: azureAsksForUsage,
}

const thinkingAzure: Provider = { ...azure, edits: limitEdits }

const anthropicLike: Provider = {
  dialect: 'anthropic',
  url: anthropicUrl,
  headers: anthropicHeaders,
  asksForUsage: () => false,
}

const anthropic: Provider = { ...anthropicLike, reading: anthropicItself }

const providers: Readonly<Partial<Record<Protocol, ProviderRow>>> = {
  ...nativeProviders,
  openai: openaiFamily,
  azure: (model) => (takesOtherLimit(model) ? thinkingAzure : azure),
  anthropic: (_model, _task, type) => (type === COMPATIBLE ? anthropicLike : anthropic),
  gemini: {
    dialect: 'gemini',
    url: geminiUrl,
    headers: geminiHeaders,
    asksForUsage: () => false,
  },
}

/** Null: nobody here speaks with channels of this type yet. */
export function providerOf(type: number, model = '', task: Task = 'chat'): Provider | null {
  const row = providers[channelType(type).protocol]
  return typeof row === 'function' ? row(model, task, type) : (row ?? null)
}
