import type { ClientDialect, AnswerReader } from './dialect.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import type { DialectName } from '../canonical/chat-request.ts'
import { type ScannedBody, memberValue } from '../../json/body-scan.ts'
import type { Form } from '../../transport/form.ts'
import type { Task } from './provider.ts'
import type { Framing } from './stream-output.ts'
import { AppError } from '../../../app-error.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { UpstreamTraits } from './traits.ts'

/**
 * Endpoints of the relay: each kind of call once, with its clients' dialect. A new endpoint is a
 * row in `PATHS` or, if the URL contains a model and an action, in `ACTIONS`.
 */
export interface Surface {
  task: Task
  dialect: DialectName
  /** API of the request, if it differs from the API of the answer. */
  spokenIn?: 'responses'
  count: CountSurface
  /** Default if the body names no model; null: the model is required. */
  defaultModel: string | null
  /**
   * Defaults to try if the caller has no channel for `defaultModel`; the first one served is used.
   */
  olderDefaults?: readonly string[]
  /** Member that must not be empty. */
  required: string
  mayStream: boolean
  /** Reads the figures that decide price and response format; absent: chat's reader is used. */
  figures?: (request: SurfaceRequest) => RequestFigures | FieldProblem
  /** Throws if the model cannot do what is asked. `sentAs`: the name that is sent upstream. */
  refuse?: (body: ScannedBody, sentAs: string) => void
  /** The endpoint that a body without the required member belongs to; null: this one. */
  insteadOf?: (body: ScannedBody) => Surface | null
  /** The client's dialect for one body; absent: the dialect's default. */
  client?: (body: JsonRecord) => ClientDialect
  /** The upstream may store the response, and later calls may continue it. */
  isStored?: true
  /** Error code for a member of the wrong type, if clients know another code. */
  wrongMember?: 'relay_field_invalid' | 'picture_field_invalid' | 'spoken_field_invalid'
}

/** A client's request, before a channel is chosen. */
export interface SurfaceRequest {
  body: ScannedBody
  /** A multipart form, whose text fields are the body; null: the request is JSON. */
  form: Form | null
  /** Name of the model in the client's request. */
  model: string
}

/** An endpoint as matched by a URL. */
export interface SurfaceCall {
  surface: Surface
  /** Model in the URL; null: the body names it. */
  model: string | null
  /** Whether the URL requests a stream; null: the body decides. */
  isStream: boolean | null
  framing: Framing
}

/**
 * Selects the members that are the prompt. `input` serves embeddings, moderations and completions.
 */
export type CountSurface = 'chat' | 'input' | 'responses' | 'messages' | 'contents'

/** An invalid body: which member, and whether it is missing or wrong. */
export interface FieldProblem {
  field: string
  isMissing: boolean
}

/** Figures of a request that decide the price and the shape of the answer. */
export interface RequestFigures {
  /** Completion tokens that the client allows, over all choices and prompts; null if not set. */
  maxCompletionTokens: number | null
  /** Number of answers that the call requests; absent: one. */
  replies?: number
  isStream: boolean
  /** The client requested the usage chunk. */
  wantsUsage: boolean
  /** The answer is not text, and is passed on unchanged. */
  isRecording?: boolean
  /** How the call is measured, if not by its text alone. */
  metering?: MeteringAs
  /** How web search is measured; it also depends on the name that is sent upstream. */
  searched?: (pricedAs: string, sentAs: string) => Metering | undefined
  /** Possible usage beside tokens, reserved with them. */
  extras?: UsedExtras
  /** Of the Responses API: ids of the upstream's response, to be stored. */
  seen?: SeenResponse
}

/** Ids of the upstream's response, as far as it has reported them. */
export interface SeenResponse {
  /** Id of the response; null if not reported yet. */
  id: string | null
  totalTokens: number
  /** Ids of its items and containers, which later requests may refer to. */
  itemIds: string[]
}

export const missing = (field: string): FieldProblem => ({ field, isMissing: true })
export const invalid = (field: string): FieldProblem => ({ field, isMissing: false })

/** Error of an invalid field, for the client. */
export const fieldRefusal = (
  { field, isMissing }: FieldProblem,
  { wrongMember = 'relay_field_invalid' }: Pick<Surface, 'wrongMember'>,
): AppError => new AppError(isMissing ? 'relay_field_required' : wrongMember, { field })

/** Returns a text member of a JSON body or a form; '' when absent, null when it is not a text. */
export function textMember(body: ScannedBody, name: string): string | null {
  const value = memberValue(body, name) ?? ''
  return typeof value === 'string' ? value : null
}

/** Returns an integer from `min` to `max`; `otherwise` when absent, null when invalid. */
export function countMember(
  body: ScannedBody,
  name: string,
  { min, max, otherwise }: { min: number; max: number; otherwise: number },
): number | null {
  const member = memberValue(body, name) ?? ''
  // A form expresses "not set" as an empty text.
  const sent = member === '' ? otherwise : member
  const value = typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : sent
  const isCount = typeof value === 'number' && Number.isInteger(value)
  return isCount && value >= min && value <= max ? value : null
}

/** Returns a boolean; false when absent, null when invalid. */
export function flagMember(body: ScannedBody, name: string): boolean | null {
  const value = memberValue(body, name) ?? false
  if (typeof value === 'boolean') return value
  // Python clients capitalize booleans in forms.
  if (value === 'true' || value === 'True') return true
  return value === 'false' || value === 'False' || value === '' ? false : null
}

/** Data for passing an answer on to a client of the same dialect. */
export type PassedOn = Pick<
  ClientDialect,
  'name' | 'streamWriter' | 'wholeAsEvents' | 'gatherer' | 'end' | 'errorPiece'
>

/**
 * How a call is measured. `pricedAs` is the model name with the price, the requested or the mapped
 * one: whether the model is sold by the token is looked up under it.
 */
export type MeteringAs = (pricedAs: string, sold: Sold) => Metering

/** Other properties of a channel and its price that decide how a call is measured. */
export interface Sold {
  /** Traits of the channel's vendor. */
  traits: UpstreamTraits
  /** Whether images and their prompt are priced by the token. */
  byImageToken: boolean
}

/**
 * How to measure a call that is not priced by its text alone: images, speech, reranking. Made for
 * each attempt from the client's request.
 */
export interface Metering {
  /**
   * Highest usage that the request allows: it is reserved, and it is charged if the real usage is
   * unknown. Null: text is counted as for any chat.
   */
  estimate: TokenUsage | null
  /** Possible usage beside the counted text, reserved with it. */
  extras?: UsedExtras
  reading: AnswerReader & PassedOn
}
