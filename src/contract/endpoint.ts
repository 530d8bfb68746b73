import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'

/** Who may call. `user` is role 1 and above, `admin` 10 and above, `root` 100. */
export type Access = 'anyone' | 'user' | 'admin' | 'root'
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * How large the body of a call may be. `public`: calls that need no account. `ordinary`: one
 * record. `bulk`: many records or long texts at once, for administrators only; may be compressed.
 */
export type BodyClass = 'public' | 'ordinary' | 'bulk'

/** What an endpoint declares about itself. What is not in `data` or `extra` cannot leave the server. */
export interface EndpointOptions {
  /** Names the operation in the API description; clients made from that have it as a function. */
  name: string
  /** One line for the API description. */
  summary: string
  access: Access
  /** The setting of the process that may raise the least role above `access`. */
  raisedBy?: 'OPTIONS_MIN_ROLE'
  params?: z.ZodType
  query?: z.ZodType
  body?: z.ZodType
  /** Default: `public` where anybody may call, else `ordinary`. */
  bodyClass?: BodyClass
  /** Shape of the envelope's `data`. Without it the answer carries no `data` member. */
  data?: z.ZodType
  /** Members of the envelope beside `data` (channel test, balance). */
  extra?: z.ZodType
  /**
   * `envelope` (default): `{success, message, data}`. `raw`: the shape in `data` is the whole
   * answer. `stream`: the handler writes the answer itself, a file of rows of this shape.
   */
  answer?: 'envelope' | 'raw' | 'stream'
  /** A `stream` that comes as CSV alone, with a column for each member of its rows. */
  isTable?: true
  /** `critical` calls also count in the small bucket that guards sign-in, mail and codes. */
  rate?: 'critical'
  /** A GET that changes state: the CSRF gate treats it as a write. */
  changesState?: boolean
  /**
   * Answers only when this query member is present and not empty; tells two endpoints of one path
   * apart.
   */
  whenQuery?: string
  /** Still answers while the session must change its default password. */
  duringPasswordChange?: boolean
  /** Names the refusal of a body that does not fit, where the wire has one of its own. */
  misfit?: ErrorCode
  /** Refusals with a true status that the description tells of, beside those every call may meet. */
  refusals?: readonly ErrorCode[]
  /** `X-Total-Count` says how many rows the whole list has. */
  counted?: true
}

export interface Endpoint<
  M extends Method = Method,
  P extends string = string,
  O extends EndpointOptions = EndpointOptions,
> {
  method: M
  /** The wire's own spelling; the server answers with and without the trailing slash. */
  path: P
  options: O
}

/** Returns the body class of an endpoint: the declared one, or the default for who may call. */
export const bodyClassOf = ({ access, bodyClass }: EndpointOptions): BodyClass =>
  bodyClass ?? (access === 'anyone' ? 'public' : 'ordinary')

const endpoint =
  <M extends Method>(method: M) =>
  <P extends string, const O extends EndpointOptions>(path: P, options: O): Endpoint<M, P, O> => ({
    method,
    path,
    options,
  })

export const get = endpoint('GET')
export const post = endpoint('POST')
export const put = endpoint('PUT')
export const del = endpoint('DELETE')

type Input<S> = S extends z.ZodType ? z.input<S> : undefined
type Output<S> = S extends z.ZodType ? z.output<S> : undefined

/** What a handler is given, after parsing. */
export interface ParsedInput<E extends Endpoint> {
  params: Output<E['options']['params']>
  query: Output<E['options']['query']>
  body: Output<E['options']['body']>
}

/** What the caller finds under `data` (or as the whole answer when `answer` is `raw`). */
export type AnswerData<E extends Endpoint> = Output<E['options']['data']>
/** What the handler returns: the input side of the answer shape, defaults not yet applied. */
export type HandlerData<E extends Endpoint> = Input<E['options']['data']>
/** Members beside `data`. */
export type AnswerExtra<E extends Endpoint> = Output<E['options']['extra']>
