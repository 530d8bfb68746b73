import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'

/** Minimum role of a caller. `user` is role 1 and above, `admin` 10 and above, `root` 100. */
export type Access = 'anyone' | 'user' | 'admin' | 'root'
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * Maximum size of a request body. `public`: endpoints without sign-in. `ordinary`: one record.
 * `bulk`: many records or long texts, for administrators only; may be compressed.
 */
export type BodyClass = 'public' | 'ordinary' | 'bulk'

/** Parsed input by which an endpoint decides whether a proof of identity is needed. */
export interface ProofInput {
  query: Readonly<Record<string, unknown>>
  body: Readonly<Record<string, unknown>>
}

/** Declaration of an endpoint. Members that `data` or `extra` does not declare are not sent. */
export interface EndpointOptions {
  /**
   * Name of the operation in the API description; generated clients use it as the function name.
   */
  name: string
  /** One line for the API description. */
  summary: string
  access: Access
  /** Scope of access tokens that allows this endpoint, beside `all` and `read` (`access-token.ts`). */
  scope?: 'logs' | 'channels' | 'tokens'
  /** The response contains keys or codes that are worth quota: scope `read` does not allow it. */
  givesSecrets?: true
  /** No named access token may call this endpoint: it would outlive its own expiry or revocation. */
  noNamedToken?: true
  /** Environment setting that may raise the minimum role above `access`. */
  raisedBy?: 'OPTIONS_MIN_ROLE'
  params?: z.ZodType
  query?: z.ZodType
  body?: z.ZodType
  /** Default: `public` if access is `anyone`, else `ordinary`. */
  bodyClass?: BodyClass
  /** Schema of `data` in the envelope. If not set, the response has no `data`. */
  data?: z.ZodType
  /** Members of the envelope beside `data` (channel test, balance). */
  extra?: z.ZodType
  /**
   * `envelope` (default): `{success, message, data}`. `raw`: the response is `data` itself.
   * `stream`: the handler writes the response, a file of rows with this schema.
   */
  answer?: 'envelope' | 'raw' | 'stream'
  /** Columns of a `stream` in CSV, by their wire names. */
  columns?: readonly string[]
  /** A `stream` that is only available as CSV, with one column per member of a row. */
  isTable?: true
  /** `critical` requests also count against the small rate limit for sign-in, mail and codes. */
  rate?: 'critical'
  /** A GET that changes state: CSRF protection treats it as a write. */
  changesState?: boolean
  /**
   * Selects this endpoint only if the query member is present and not empty. Distinguishes two
   * endpoints with the same path.
   */
  whenQuery?: string
  /**
   * A session needs a proof of identity within the last five minutes: signing in, or
   * `POST /api/verify`. A function decides by the input. Callers with a system access token are not
   * asked, because scripts cannot answer.
   */
  needsProof?: true | ((input: ProofInput) => boolean)
  /** Available while a session must still change its default password. */
  duringPasswordChange?: boolean
  /** Available to an account that must set up a second factor before anything else. */
  duringFactorSetup?: boolean
  /** Error code for a body that does not match the schema, where the wire has a specific one. */
  misfit?: ErrorCode
  /**
   * Errors with their own HTTP status that the API description lists, beside those of every
   * endpoint.
   */
  refusals?: readonly ErrorCode[]
  /** `X-Total-Count` holds the number of rows in the whole list. */
  counted?: true
}

export interface Endpoint<
  M extends Method = Method,
  P extends string = string,
  O extends EndpointOptions = EndpointOptions,
> {
  method: M
  /** Spelling on the wire. The server accepts the path with and without a trailing slash. */
  path: P
  options: O
}

/** Returns the body class of an endpoint: the declared one, or the default for its access. */
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

/** Parsed input of a handler. */
export interface ParsedInput<E extends Endpoint> {
  params: Output<E['options']['params']>
  query: Output<E['options']['query']>
  body: Output<E['options']['body']>
}

/** Type of `data` that a client receives (the whole response if `answer` is `raw`). */
export type AnswerData<E extends Endpoint> = Output<E['options']['data']>
/** Type that the handler returns: the input side of the schema, without defaults. */
export type HandlerData<E extends Endpoint> = Input<E['options']['data']>
/** Members beside `data`. */
export type AnswerExtra<E extends Endpoint> = Output<E['options']['extra']>
