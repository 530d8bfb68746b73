import type { ClientDialect } from './dialect.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { DialectName } from '../canonical/chat-request.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import type { Form } from '../transport/form.ts'
import type { Metering, MeteringAs } from './metering.ts'
import type { Task } from './provider.ts'
import type { Framing } from './stream-output.ts'

/**
 * What programs can ask of the relay: each kind of call once, with the dialect its clients speak. A
 * new surface is a row, in `PATHS` or, where the address carries a model and an action, in
 * `ACTIONS`.
 */
export interface Surface {
  task: Task
  dialect: DialectName
  /** The request is in the words of another API than its answer. */
  spokenIn?: 'responses'
  count: CountSurface
  /** What is used when the body names no model; null: it must. */
  defaultModel: string | null
  /** What is used in its place where the caller has no channel for it, the first that is served. */
  olderDefaults?: readonly string[]
  /** The member that must hold something. */
  required: string
  mayStream: boolean
  /** Reads what decides about price and shape, where that is not what chat has. */
  figures?: (request: SurfaceRequest) => RequestFigures | FieldProblem
  /** Throws where a model, by the name that is sent, cannot do what is asked. */
  refuse?: (body: ScannedBody, sentAs: string) => void
  /** The surface that is meant where the required member is missing; null: this one. */
  insteadOf?: (body: ScannedBody) => Surface | null
  /** Who reads the request and gets the answer, for one body; absent: the dialect's usual client. */
  client?: (body: JsonRecord) => ClientDialect
  /** The answer may be stored by the upstream, and later calls may go on from it. */
  isStored?: true
  /** How a member of a wrong kind is refused, where clients know that by another code. */
  wrongMember?: 'relay_field_invalid' | 'picture_field_invalid' | 'spoken_field_invalid'
}

/** What a client has sent, before anybody has been asked to answer it. */
export interface SurfaceRequest {
  body: ScannedBody
  /** A multipart form, whose text fields are the body; null: it came as JSON. */
  form: Form | null
  /** As the client named it. */
  model: string
}

/** A surface as an address asks for it. */
export interface SurfaceCall {
  surface: Surface
  /** Where the address names the model; null: the body does. */
  model: string | null
  /** Where the address says whether it is a stream; null: the body does. */
  isStream: boolean | null
  framing: Framing
}

/**
 * Which members of a request are its prompt. `input` serves embeddings, moderations and
 * completions.
 */
export type CountSurface = 'chat' | 'input' | 'responses' | 'messages' | 'contents'

/** A body that cannot be what the surface wants: which member, and whether it is absent or wrong. */
export interface FieldProblem {
  field: string
  isMissing: boolean
}

/** The figures of a request that decide about price and shape of the answer. */
export interface RequestFigures {
  /**
   * Completion tokens that the client lets the model produce, choices and prompts considered; null:
   * it did not say.
   */
  maxCompletionTokens: number | null
  /** How many replies the call asks for; absent: one. */
  replies?: number
  isStream: boolean
  /** The client wants the usage chunk itself. */
  wantsUsage: boolean
  /** The answer is no text, and goes on as it comes. */
  isRecording?: boolean
  /** How the call is measured, where that is not by its text alone. */
  metering?: MeteringAs
  /** The same of what may search the web, which the name that is sent tells too. */
  searched?: (pricedAs: string, sentAs: string) => Metering | undefined
  /** What may be used beside the tokens, held back with them. */
  extras?: UsedExtras
  /** Of the Responses API: what the upstream made, to be remembered. */
  seen?: SeenResponse
}

/** Which response the upstream has made, as far as it has said. */
export interface SeenResponse {
  /** Null: it has not said. */
  id: string | null
  totalTokens: number
  /** What it is made of and ran in, by the names that later requests may refer to. */
  itemIds: string[]
}
