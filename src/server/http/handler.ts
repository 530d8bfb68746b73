import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Language } from '../../contract/errors.ts'
import type { AnswerExtra, Endpoint, HandlerData, ParsedInput } from '../../contract/endpoint.ts'
import type { StoredUser } from '../user/user-store.ts'

/** The caller, with its current row. */
export interface Actor {
  user: StoredUser
  id: number
  role: number
  /** Hash of the session id if the request came with a cookie, else ''. */
  sessionHash: string
  /** Time of the session's last proof of identity in seconds; 0 without a session. */
  verifiedAtSeconds: number
  /** Whether the session uses the default password and may only change it. */
  mustChangePassword: boolean
}

/** Context of every handler, in addition to its parsed input. */
export interface CallContext {
  /** Null for `anyone` endpoints if the caller is not signed in. */
  actor: Actor | null
  language: Language
  requestId: string
  /** Client address. */
  address: string
  request: FastifyRequest
  reply: FastifyReply
  /** Throws the error that the same request would get now. For long-running responses. */
  checkAgain(): Promise<void>
}

type WithActor<E extends Endpoint> = E['options']['access'] extends 'anyone'
  ? CallContext
  : Omit<CallContext, 'actor'> & { actor: Actor }

/** Result of a handler: `{data}`, `{data, ...extra}` or nothing, as the endpoint declares. */
export type Answer<E extends Endpoint> = E['options'] extends { answer: 'stream' }
  ? void
  : (E['options'] extends { data: unknown } ? { data: HandlerData<E> } : object) &
      (E['options'] extends { extra: unknown } ? AnswerExtra<E> : object) & {
        /** Message of the envelope; rarely used with a success (`bind`, the text of a test). */
        message?: string
      }

export interface Route {
  endpoint: Endpoint
  handle(context: CallContext & ParsedInput<Endpoint>): Promise<unknown>
}

/** Binds an endpoint to its handler. */
export function serve<E extends Endpoint>(
  endpoint: E,
  handle: (call: WithActor<E> & ParsedInput<E>) => Promise<Answer<E> | void> | Answer<E> | void,
): Route {
  return {
    endpoint,
    // `mount` has parsed the input with this endpoint's shapes and checked that the actor is set.
    handle: async (context) => handle(context as unknown as WithActor<E> & ParsedInput<E>),
  }
}
