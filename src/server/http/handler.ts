import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Language } from '../../contract/errors.ts'
import type { AnswerExtra, Endpoint, HandlerData, ParsedInput } from '../../contract/endpoint.ts'
import type { StoredUser } from '../user/user-store.ts'

/** Who calls, as the row is at this moment. */
export interface Actor {
  user: StoredUser
  id: number
  role: number
  /** Hash of the session's id when the call came with a cookie, else ''. */
  sessionHash: string
  /** Whether the session is on the default password, and may only change it. */
  mustChangePassword: boolean
}

/** What every handler is given beside its parsed input. */
export interface CallContext {
  /** `anyone` endpoints: null when nobody is signed in. */
  actor: Actor | null
  language: Language
  requestId: string
  /** The caller's address. */
  address: string
  request: FastifyRequest
  reply: FastifyReply
  /** Throws what a call like this one would be refused with by now. For answers that take long. */
  checkAgain(): Promise<void>
}

type WithActor<E extends Endpoint> = E['options']['access'] extends 'anyone'
  ? CallContext
  : Omit<CallContext, 'actor'> & { actor: Actor }

/** `{data}`, `{data, ...extra}` or nothing, as the endpoint declares. */
export type Answer<E extends Endpoint> = E['options'] extends { answer: 'stream' }
  ? void
  : (E['options'] extends { data: unknown } ? { data: HandlerData<E> } : object) &
      (E['options'] extends { extra: unknown } ? AnswerExtra<E> : object) & {
        /** Members of the envelope: a message beside success is rare (`bind`, the text of a test). */
        message?: string
      }

export interface Route {
  endpoint: Endpoint
  handle(context: CallContext & ParsedInput<Endpoint>): Promise<unknown>
}

/** Binds an endpoint to what answers it. */
export function serve<E extends Endpoint>(
  endpoint: E,
  handle: (call: WithActor<E> & ParsedInput<E>) => Promise<Answer<E> | void> | Answer<E> | void,
): Route {
  return {
    endpoint,
    // `mount` has parsed the input with this endpoint's own shapes and checked that the actor is
    // there.
    handle: async (context) => handle(context as unknown as WithActor<E> & ParsedInput<E>),
  }
}
