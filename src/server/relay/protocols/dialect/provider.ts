import type { Capabilities } from '../../../model/capabilities.ts'
import type { App } from '../../../app.ts'
import type { DialectName } from '../canonical/chat-request.ts'
import { type ScannedBody, scanBody, type BodyFault } from '../../json/body-scan.ts'
import { type MemberEdit, splice } from '../../json/body-splice.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import type { Seal, UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import type { AnswerReader, UpstreamDialect } from './dialect.ts'
import type { Steering } from './steering.ts'
import type { Wire } from '../../transport/wire.ts'
import { AppError } from '../../../app-error.ts'
import type { Clock } from '../../../clock.ts'
import { NO_OVERRIDES, type Overrides } from '../../../channel/overrides.ts'
import { overridden } from '../../transport/override-request.ts'

/**
 * How upstreams of one protocol are called: their dialect, the URL of each task, and the headers.
 * To add a provider or a task, see docs/dialects.md, "Where things are".
 */
export interface Provider {
  /** A dialect that clients use as well, or the vendor's own. */
  dialect: DialectName | UpstreamDialect
  /** Reader for answers that differ from the dialect; absent: the dialect's reader. */
  reading?: AnswerReader
  /** URL of a task; null if the upstream does not have the task, or its URL is unknown. */
  url(channel: ProviderChannel, call: ProviderCall): string | null
  /** `body`: in the provider's dialect, before its own edits; absent: not written yet. */
  headers(channel: ProviderChannel, call: ProviderCall, body?: Buffer): Record<string, string>
  /** Whether a stream's usage must be requested, in OpenAI's dialect. */
  asksForUsage(channel: ProviderChannel, call: ProviderCall): boolean
  /** Framing of streams; absent: server-sent events. */
  wire?: Wire
  /**
   * Steering parameters that this provider rejects, beside those its dialect lacks; absent: none.
   */
  lacks?: readonly Steering[]
  /** Rejects reasoning of earlier turns in messages; absent: takes it, or has no member for it. */
  refusesReasoning?: true
  /** Edits that this provider needs in a body of its dialect, from a client or from a converter. */
  edits?(body: ScannedBody, call: ProviderCall, channel: ProviderChannel): MemberEdit[]
  /**
   * Converts a form to JSON, for `edits`, if the upstream takes no forms; absent: forms are sent
   * unchanged.
   */
  ofForm?(form: SentForm): Buffer
  /** Signs a request right before it is sent; absent: not needed. */
  seal?(channel: ProviderChannel, request: UpstreamRequest, nowSeconds: () => number): Seal
  /** Transport for a call of more than one request; absent or null: a single HTTP request. */
  via?(channel: ProviderChannel, call: ProviderCall): Via | null
}

/** Fields of a multipart form that JSON can express. */
export interface SentForm {
  fields: ScannedBody
  files: readonly { name: string; bytes: Buffer }[]
}

/** Tasks of an upstream. */
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
  /** Compaction of a conversation, which the Responses API continues from. */
  | 'compact'
  /** Gemini's two embedding endpoints: one text, and several. */
  | 'embedContent'
  | 'batchEmbedContents'

/** Tasks whose answer is text that a model writes. */
export const WRITING_TASKS: ReadonlySet<Task> = new Set(['chat', 'completions', 'responses'])

/** Images and recordings: an aborted request costs as much as a complete one. */
export const PAID_BY_THE_PIECE: ReadonlySet<Task> = new Set([
  'images',
  'imageEdits',
  'speech',
  'transcriptions',
  'translations',
])

/** Data of a channel for its provider. */
export interface ProviderChannel {
  type: number
  key: string
  /** Base URL without a trailing slash; empty for the type's default. */
  baseUrl: string
  /** API version, if the channel's form has that field; empty: the provider's default. */
  apiVersion: string
  /** Other fields of the channel's form. */
  config?: JsonRecord
}

/** Data of a call for its provider. */
export interface ProviderCall {
  task: Task
  /** Name of the model at the upstream. */
  model: string
  isStream: boolean
  /** Query and headers of the client's request; a few of them are passed on. */
  clientQuery: URLSearchParams
  clientHeaders: Readonly<Record<string, string | string[] | undefined>>
  /**
   * This server's public URL, for providers that show callers to their customers; '' if not set.
   */
  ownAddress: string
  /** Collects what is left out of the request; absent: the notes are not needed. */
  notes?: RequestNotes
  /** Version of Gemini's API for channels without one; absent: the default. */
  geminiVersion?: string
  /** Type of the channel. */
  type?: number | undefined
  /** Capabilities of the model; absent: those of the bundled data. */
  capabilities?: Capabilities | undefined
  /** The upstream rejected the call because reasoning of an earlier turn is missing. */
  isReasoningMissing?: boolean
}

/** Client of the call: the parts of its request that may be passed on. */
interface AskingClient {
  query: URLSearchParams
  request: { headers: ProviderCall['clientHeaders'] }
}

type AskedCall = Pick<ProviderCall, 'task' | 'model' | 'isStream'> & { type: number }

/**
 * Builds the data of a call for its provider; `client`: null for requests of the gateway itself.
 */
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

interface UpstreamPlace {
  to: ProviderCall
  url: string
}

/**
 * Returns the endpoint and its task: chat if the provider has no Responses API. Null if the
 * provider has an endpoint for neither.
 */
export function placeOf(
  provider: Provider | null,
  channel: ProviderChannel,
  to: ProviderCall,
): UpstreamPlace | null {
  const url = provider?.url(channel, to) ?? null
  if (url !== null) return { to, url }
  return to.task === 'responses' ? placeOf(provider, channel, { ...to, task: 'chat' }) : null
}

const USER_AGENT = 'Gatehouse'

/** A call and the channel that it is sent to. */
export interface Sent {
  channel: ProviderChannel
  to: ProviderCall
}

/** Headers of a request; `body`: as in `Provider`. */
export const headOf = (
  provider: Provider,
  { channel, to }: Sent,
  { contentType, accept, body }: { contentType: string; accept: string; body?: Buffer },
): Record<string, string> => ({
  'content-type': contentType,
  accept,
  'accept-encoding': 'identity',
  'user-agent': USER_AGENT,
  ...provider.headers(channel, to, body),
})

/** Tool arguments are JSON in a string, whose nesting must be checked, too. */
const broken = ({ code, reason }: BodyFault): Error =>
  code === 'depth'
    ? new AppError('relay_body_invalid', { detail: reason, offset: 0 })
    : new Error(`a written body is broken: ${reason}`)

/** Applies the provider's edits to a body of its dialect; the channel's follow (`readyToSend`). */
export function finished({ edits }: Provider, { channel, to }: Sent, bytes: Buffer): Buffer {
  return edits === undefined ? bytes : editedBody(bytes, (body) => edits(body, to, channel))
}

/** Applies edits that depend on the scanned body. */
export function editedBody(bytes: Buffer, editsOf: (body: ScannedBody) => MemberEdit[]): Buffer {
  const body = scanBody(bytes)
  if (!body.ok) throw broken(body)
  const edits = editsOf(body)
  return edits.length === 0 ? bytes : splice(body, edits)
}

/** Returns the request with the channel's overrides, its signing step and its transport. */
export function readyToSend(
  provider: Provider,
  { channel, to }: Sent & { channel: { overrides: Overrides } },
  planned: UpstreamRequest,
  clock: Pick<Clock, 'nowSeconds'>,
): UpstreamRequest {
  const { overrides } = channel
  const request = overrides === NO_OVERRIDES ? planned : overridden(planned, channel)
  const via = provider.via?.(channel, to) ?? null
  if (provider.seal === undefined) return via === null ? request : { ...request, via }
  const seal = provider.seal(channel, request, () => clock.nowSeconds())
  return { ...request, seal, ...(via === null ? {} : { via }) }
}
