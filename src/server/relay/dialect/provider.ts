import type { Capabilities } from '../../model/capabilities.ts'
import type { App } from '../../app.ts'
import type { DialectName } from '../canonical/chat-request.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { Seal, UpstreamRequest, Via } from '../transport/upstream-call.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import type { AnswerReader, UpstreamDialect } from './dialect.ts'
import type { Steering } from './steering.ts'
import type { Wire } from '../transport/wire.ts'

/**
 * How upstreams of one protocol are called: which dialect they speak, where each task is, and what
 * goes into the head. Where a new one goes, and a new task: docs/dialects.md, "Where things are".
 */
export interface Provider {
  /** One that clients use as well, or the vendor's own. */
  dialect: DialectName | UpstreamDialect
  /** How answers are read that mean more here than elsewhere; absent: as the dialect's. */
  reading?: AnswerReader
  /** Where a task is; null: the upstream has no such call, or no address is known. */
  url(channel: ProviderChannel, call: ProviderCall): string | null
  /** `body`: in the provider's dialect, before its own edits; absent: there is none yet. */
  headers(channel: ProviderChannel, call: ProviderCall, body?: Buffer): Record<string, string>
  /** Whether a stream must be asked for its usage, in OpenAI's dialect. */
  asksForUsage(channel: ProviderChannel, call: ProviderCall): boolean
  /** How streams are laid out; absent: as server-sent events. */
  wire?: Wire
  /** Steering parameters that this provider refuses, beside those its dialect lacks; absent: none. */
  lacks?: readonly Steering[]
  /** Rejects reasoning of earlier turns in messages; absent: takes it, or has no member for it. */
  refusesReasoning?: true
  /** Edits that this provider needs in a body of its dialect, from a client or from a converter. */
  edits?(body: ScannedBody, call: ProviderCall, channel: ProviderChannel): MemberEdit[]
  /** A form as JSON, for `edits` to change, where the upstream takes none; absent: it passes. */
  ofForm?(form: SentForm): Buffer
  /** What must happen to a request before it goes out; absent: nothing. */
  seal?(channel: ProviderChannel, request: UpstreamRequest, nowSeconds: () => number): Seal
  /** How a call is made that takes more than one request; absent or null: as all others. */
  via?(channel: ProviderChannel, call: ProviderCall): Via | null
}

/** A multipart form, as far as it can be said in JSON. */
export interface SentForm {
  fields: ScannedBody
  files: readonly { name: string; bytes: Buffer }[]
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

/** Tasks whose answer is text that a model writes. */
export const WRITING_TASKS: ReadonlySet<Task> = new Set(['chat', 'completions', 'responses'])

/** Images and recordings: each one costs the same, even if the client has left. */
export const PAID_BY_THE_PIECE: ReadonlySet<Task> = new Set([
  'images',
  'imageEdits',
  'speech',
  'transcriptions',
  'translations',
])

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
  /** Collects what is left out of the request; absent: the notes are not needed. */
  notes?: RequestNotes
  /** Version of Gemini's API for channels that name none; absent: the usual one. */
  geminiVersion?: string
  /** The channel's. */
  type?: number | undefined
  /** What the model can do; absent: what is known without the operator's entries. */
  capabilities?: Capabilities | undefined
  /** The upstream has refused the call because reasoning of an earlier turn is missing. */
  isReasoningMissing?: boolean
}

/** Whose call it is: what of it may travel on. */
interface AskingClient {
  query: URLSearchParams
  request: { headers: ProviderCall['clientHeaders'] }
}

type AskedCall = Pick<ProviderCall, 'task' | 'model' | 'isStream'> & { type: number }

/** Data of a call for its provider; `client`: null for requests of the gateway itself. */
export function providerCallOf(
  { config, options, models }: Pick<App, 'config' | 'options' | 'models'>,
  { task, model, isStream, type }: AskedCall,
  client: AskingClient | null,
): ProviderCall {
  return {
    task,
    model,
    isStream,
    type,
    capabilities: models.table().capabilitiesOf(model, type),
    clientQuery: client?.query ?? NO_QUERY,
    clientHeaders: client?.request.headers ?? NO_HEADERS,
    ownAddress: client === null ? '' : options.text('ServerAddress'),
    geminiVersion: config.GEMINI_VERSION,
  }
}

const NO_QUERY = new URLSearchParams()
const NO_HEADERS = {}
