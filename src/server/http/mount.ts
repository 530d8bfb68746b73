import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { allEndpoints } from '../../contract/api.ts'
import { bodyClassOf, type Access, type Endpoint } from '../../contract/endpoint.ts'
import type { ErrorSpec } from '../../contract/error-spec.ts'
import { errors, languageOf, namedLanguage, type ErrorCode } from '../../contract/errors.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { accessTokenRefusal, isUseOutdated } from '../access-token/access-token.ts'
import { findAccessToken, noteAccessTokenUse } from '../access-token/access-token-store.ts'
import { AppError } from '../app-error.ts'
import { isOutage } from '../db/outage.ts'
import { mustSetUpFactor } from '../second-factor/required-factor.ts'
import type { StoredSession } from '../user/session-store.ts'
import type { App } from '../app.ts'
import { recordRefusal } from '../audit/audit-refusal.ts'
import { BODY_LIMITS, bodyTooLarge } from './body-limit.ts'
import { addressKey } from './client-address.ts'
import { isCrossSite } from './csrf.ts'
import type { Actor, CallContext, Route } from './handler.ts'
import { parseInput, queryOf } from './input/parse-input.ts'
import { clearCookie, readCookie } from './own-cookie.ts'
import { requireProof } from './proof.ts'
import { retryAfter } from './rate-limit.ts'
import { isAmbiguous } from './request-head.ts'
import { SESSION_COOKIE } from './sessions.ts'
import { throughReplica } from './through-replica.ts'

export interface Mounting {
  app: App
  routes: readonly Route[]
  /** Called with the status of each response. */
  answered(status: number): void
}

/**
 * Mounts the management API exactly as the contract's table declares it. Steps of each request, in
 * this order: rate limit, caller, cross-site check, role, input, proof of identity, handler, and
 * the result through the endpoint's shape, so that undeclared members are never sent.
 */
export function mountApi(server: FastifyInstance, { app, routes, answered }: Mounting): void {
  const byEndpoint = new Map(routes.map((route) => [route.endpoint, route]))
  for (const endpoint of allEndpoints) {
    if (!byEndpoint.has(endpoint)) {
      throw new Error(`no handler for ${endpoint.method} ${endpoint.path}`)
    }
  }
  const admitted = new WeakMap<FastifyRequest, Admitted>()
  const byAddress = Map.groupBy(
    routes,
    ({ endpoint }) => `${endpoint.method} ${endpoint.path.replace(/\/$/, '')}`,
  )
  for (const group of byAddress.values()) {
    // An endpoint that requires a query member is matched first; the plain one takes the rest.
    const ordered = group.toSorted(
      (a, b) =>
        Number(b.endpoint.options.whenQuery !== undefined) -
        Number(a.endpoint.options.whenQuery !== undefined),
    )
    const first = ordered[0]
    if (first === undefined) continue
    server.route({
      method: first.endpoint.method,
      url: first.endpoint.path.replace(/\/$/, ''),
      bodyLimit: bodyBytesMax(ordered),
      // Permission is checked before the body is read.
      async onRequest(request, reply) {
        const route = ordered.find(({ endpoint }) => applies(endpoint, request))
        if (route === undefined) return reply.callNotFound()
        const context = await admit(app, route.endpoint, request, reply)
        if (context === null) return reply
        admitted.set(request, { route, context })
      },
      async onResponse(_request, reply) {
        answered(reply.statusCode)
      },
      async handler(request, reply) {
        const call = admitted.get(request)
        if (call !== undefined) await answerCall(app, call)
        return reply
      },
    })
  }
}

/** A permitted request. */
interface Admitted {
  route: Route
  context: CallContext
}

const bodyBytesMax = (routes: readonly Route[]): number =>
  Math.max(...routes.map(({ endpoint }) => BODY_LIMITS[bodyClassOf(endpoint.options)].bytesMax))

function applies({ options: { whenQuery } }: Endpoint, request: FastifyRequest): boolean {
  if (whenQuery === undefined) return true
  const value = queryOf(request)[whenQuery]
  return value !== undefined && value !== ''
}

/**
 * Returns the caller if rate limits and permissions allow the request, or null if it was refused.
 */
async function admit(
  app: App,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<CallContext | null> {
  reply.header('Cache-Control', 'no-store')
  const address = app.addressOf(request.raw)
  const key = addressKey(address)
  const { api, critical } = app.rateLimits
  for (const limit of endpoint.options.rate === 'critical' ? [api, critical] : [api]) {
    if (await limit.take(key)) continue
    if (limit === critical) note(app, { request, code: 'too_many_critical_calls' })
    reply
      .code(429)
      .header('Retry-After', await retryAfter(limit, key))
      .send('')
    return null
  }
  const actor = (): Promise<Actor | null> => actorOf(app, endpoint, { request, reply })
  try {
    const named = namedLanguage(request.headers['accept-language'])
    const caller = await actor()
    refuseCompressed(endpoint, request)
    // A browser sends its user's language; HTTP libraries send arbitrary ones.
    if (caller !== null && caller.sessionHash !== '' && named !== null) {
      app.languages.remember(caller.id, named)
    }
    return {
      actor: caller,
      language: languageOf(request.headers['accept-language']),
      requestId: String(request.id),
      address,
      request,
      reply,
      checkAgain: async () => void (await actor()),
    }
  } catch (error) {
    refuse(app, endpoint, error, { request, reply, actor: null })
    return null
  }
}

/** Throws if the body is compressed although the endpoint takes small bodies only. */
function refuseCompressed({ options }: Endpoint, { headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  const isCompressed = encoding !== '' && encoding !== 'identity'
  if (isCompressed && options.body !== undefined && bodyClassOf(options) !== 'bulk') {
    throw new AppError('body_compression_refused')
  }
}

async function answerCall(app: App, { route, context }: Admitted): Promise<void> {
  const { endpoint, handle } = route
  try {
    // Before the input is read, so that nothing depends on it.
    if (endpoint.options.needsProof === true) refuseUnproven(app, endpoint, context)
    const input = await parseInput(endpoint, context.request)
    // The body may have arrived late, and the caller's access may have been revoked meanwhile.
    const isLate = context.actor !== null && endpoint.method !== 'GET'
    const actor = isLate ? await actorOf(app, endpoint, context) : context.actor
    refuseUnproven(app, endpoint, { actor, ...input })
    const answer = await throughReplica(app, { endpoint, actor }, () =>
      handle({ ...context, actor, ...input }),
    )
    if (endpoint.options.answer === 'stream') return
    context.reply.send(shapedAnswer(endpoint, answer))
  } catch (error) {
    refuse(app, endpoint, error, context)
  }
}

/** Throws if the endpoint needs a proof of identity and the session has no recent one. */
function refuseUnproven(
  app: App,
  { options: { needsProof } }: Endpoint,
  { actor, query, body }: { actor: Actor | null; query?: unknown; body?: unknown },
): void {
  if (needsProof === undefined || actor === null) return
  const input = { query: { ...Object(query) }, body: { ...Object(body) } }
  if (needsProof === true || needsProof(input)) requireProof(app, actor)
}

function refuse(
  app: App,
  endpoint: Endpoint,
  error: unknown,
  { request, reply, actor }: Pick<CallContext, 'request' | 'reply' | 'actor'>,
): void {
  const { options } = endpoint
  const isFile = options.answer === 'stream'
  if (error instanceof AppError) auditRefusal(app, endpoint, error, { request, actor })
  if (error instanceof AppError && WATCHED.has(error.code)) note(app, { request, code: error.code })
  renderRefusal(error, { request, reply, app, extra: options.extra, isFile })
}

/** Refusals of a sign-in. */
const SIGN_IN_FAILURES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'wrong_credentials',
  'default_password_remote',
  'too_many_attempts',
  'second_factor_wrong',
  'second_factor_attempts',
  'passkey_invalid',
  'user_disabled',
  'oauth_state_invalid',
  'external_refused',
  'external_mismatch',
  'external_root',
  'external_admin_unbound',
  'external_admin_unproven',
  'wechat_code_invalid',
  'wechat_code_attempts',
])

/** Refusals that only ask the person for something first. */
const PROMPTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'password_change_required',
  'second_factor_needed',
  'verification_needed',
  'proof_required',
])

const HTTP_UNAUTHORIZED = 401
const HTTP_FORBIDDEN = 403

/** Records a failed sign-in, or the refused call of a known account. */
function auditRefusal(
  app: App,
  { method, path, options }: Endpoint,
  error: AppError,
  { request, actor }: Pick<CallContext, 'request' | 'actor'>,
): void {
  const { code, status } = error
  const account = error.account ?? actor?.user ?? null
  const isSignIn = options.access === 'anyone'
  const isRefused = status === HTTP_UNAUTHORIZED || status === HTTP_FORBIDDEN
  const isAudited = isSignIn
    ? SIGN_IN_FAILURES.has(code)
    : account !== null && isRefused && !PROMPTS.has(code)
  if (!isAudited) return
  recordRefusal(app, {
    action: isSignIn ? 'sign_in.fail' : 'call.refuse',
    account,
    address: app.addressOf(request.raw),
    requestId: String(request.id),
    method,
    path,
    code,
  })
}

/** Errors that may indicate an attack. Sign-in logs its own, with the account. */
const WATCHED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'access_token_invalid',
  'access_token_expired',
  'access_token_scope',
  'access_token_session_needed',
  'role_too_low',
  'cross_site',
  'user_disabled',
  'email_code_wrong',
  'reset_link_invalid',
  'second_factor_wrong',
  'second_factor_attempts',
  'passkey_invalid',
  'old_password_needed',
  'old_password_wrong',
  'too_many_password_attempts',
  'session_needed',
  'proof_required',
  'oauth_state_invalid',
  'external_root',
  'external_admin_unbound',
  'external_admin_unproven',
  'wechat_code_invalid',
  'wechat_code_attempts',
  'cannot_see_peer',
  'cannot_change_peer',
  'cannot_create_peer',
  'cannot_raise_to_peer',
])

/** Logs a refused request for the operator: the path, but nothing else that was sent. */
function note(app: App, { request, code }: { request: FastifyRequest; code: string }): void {
  const { method, raw, id, url } = request
  app.trace.warn(
    { code, method, path: url.split('?')[0], address: app.addressOf(raw), requestId: id },
    'a call was refused',
  )
}

/**
 * Sends an error in the management API's envelope, with the members that `extra` declares. Errors
 * other than an `AppError` and the framework's 4xx count as bugs.
 */
export function renderRefusal(
  error: unknown,
  {
    request,
    reply,
    app,
    extra,
    isFile = false,
  }: {
    request: FastifyRequest
    reply: FastifyReply
    app: Pick<App, 'trace'>
    extra?: z.ZodType | undefined
    /** A client that requested a file would save any response with status 200. */
    isFile?: boolean
  },
): void {
  const language = languageOf(request.headers['accept-language'])
  const known = namedError(error, request)
  const spec: ErrorSpec = errors[known.code]
  if (FAULTS.has(known.code)) {
    app.trace.error(
      { err: error, requestId: request.id, url: request.url.split('?')[0] },
      'a call failed',
    )
  }
  const isReal = spec.real === true || isFile
  if (isReal && spec.retryAfter !== undefined) reply.header('Retry-After', spec.retryAfter)
  reply
    .code(isReal ? spec.status : 200)
    // The refused response may have had headers that allow caching for a year.
    .header('Cache-Control', 'no-store')
    .send({
      success: false,
      message: known.text(language),
      ...(spec.envelopeCode === undefined ? {} : { code: spec.envelopeCode }),
      ...declaredExtra(extra, known),
    })
}

/** Errors that the operator finds in the trace. */
const FAULTS: ReadonlySet<string> = new Set([
  'internal',
  'database_unavailable',
  'log_store_unavailable',
])

const HTTP_BAD_REQUEST = 400
const HTTP_UNMET = 412
const HTTP_TOO_LARGE = 413
const HTTP_SERVER_FAULT = 500

/**
 * The framework's own errors have a status: a body that is too large, an invalid path or header.
 */
function namedError(error: unknown, request: FastifyRequest): AppError {
  if (error instanceof AppError) return error
  const status =
    error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : HTTP_SERVER_FAULT
  if (status === HTTP_TOO_LARGE) {
    return bodyTooLarge(request, error)
  }
  if (status === HTTP_UNMET) return new AppError('condition_unmet', {}, error)
  return status >= HTTP_BAD_REQUEST && status < HTTP_SERVER_FAULT
    ? new AppError('invalid_parameter', {}, error)
    : new AppError(isOutage(error) ? 'database_unavailable' : 'internal', {}, error)
}

function declaredExtra(shape: z.ZodType | undefined, error: AppError): object {
  const declared = shape?.safeParse(error.extra)
  return declared?.success === true ? Object(declared.data) : {}
}

const ACCESS_ROLE: Record<Access, number> = {
  anyone: Role.guest,
  user: Role.user,
  admin: Role.admin,
  root: Role.root,
}

/**
 * Returns the caller. The order of the checks is the wire's: a valid cookie takes precedence over
 * the header.
 */
async function actorOf(
  app: App,
  endpoint: Endpoint,
  { request, reply }: Pick<CallContext, 'request' | 'reply'>,
): Promise<Actor | null> {
  const { access, raisedBy, changesState, duringPasswordChange, duringFactorSetup } =
    endpoint.options
  const cookie = readCookie(app, request, SESSION_COOKIE)
  const session = cookie === undefined ? null : await app.sessions.find(cookie)
  const { method } = endpoint
  const changes = method !== 'GET' || changesState === true
  // Requests without a session can create one, so another site could sign a visitor in as another
  // person. Other sites cannot add the other header.
  const gives = access === 'anyone' && method !== 'GET' && !request.headers.authorization
  if ((changes && cookie !== undefined) || gives) {
    if (isCrossSite(request.headers, method, app.ownOrigins)) throw new AppError('cross_site')
  }
  if (access === 'anyone') {
    return session === null || session.user.status !== UserStatus.enabled
      ? null
      : actorFrom(session)
  }
  const actor =
    session === null ? await actorByAccessToken(app, endpoint, request.raw) : actorFrom(session)
  if (actor.user.status !== UserStatus.enabled) {
    // Reported once: the session ends now.
    if (cookie !== undefined) {
      await app.sessions.end(cookie)
      clearCookie(app, { request, reply }, SESSION_COOKIE)
    }
    throw new AppError('user_disabled').about(actor.user)
  }
  if (actor.mustChangePassword) {
    if (duringPasswordChange !== true) throw new AppError('password_change_required')
  } else if (actor.sessionHash !== '' && duringFactorSetup !== true) {
    if (await mustSetUpFactor(app, actor)) throw new AppError('second_factor_required')
  }
  const raised = raisedBy === undefined ? Role.guest : app.config[raisedBy]
  if (actor.role < Math.max(ACCESS_ROLE[access], raised)) {
    throw new AppError('role_too_low').about(actor.user)
  }
  return actor
}

const actorFrom = ({
  user,
  idHash,
  mustChangePassword,
  verifiedAtSeconds,
}: Omit<StoredSession, 'usedAtSeconds'>): Actor => ({
  user,
  id: user.id,
  role: user.role,
  sessionHash: idHash,
  mustChangePassword,
  verifiedAtSeconds,
})

async function actorByAccessToken(
  app: App,
  endpoint: Endpoint,
  request: IncomingMessage,
): Promise<Actor> {
  const header = request.headers.authorization
  if (header === undefined || header === '') throw new AppError('not_signed_in')
  if (isAmbiguous(request)) throw new AppError('authorization_ambiguous')
  const { database, clock } = app
  const token = header.replace('Bearer ', '').trim()
  const found = token === '' ? undefined : await findAccessToken(database.read, token)
  if (found === undefined) throw new AppError('access_token_invalid')
  const nowSeconds = clock.nowSeconds()
  const refusal = accessTokenRefusal(found, endpoint, nowSeconds)
  if (refusal !== null) throw new AppError(refusal).about(found.user)
  const use = { nowSeconds, address: app.addressOf(request) }
  if (isUseOutdated(found, use)) {
    // Runs in the background, so that a read-only database does not fail read requests.
    void noteAccessTokenUse(database.write, found, use).catch(() => {})
  }
  return actorFrom({
    user: found.user,
    idHash: '',
    mustChangePassword: false,
    verifiedAtSeconds: 0,
  })
}

/**
 * Builds the envelope. The handler's result is parsed with the endpoint's shape; a mismatch is a
 * bug.
 */
function shapedAnswer({ options }: Endpoint, answer: unknown): unknown {
  const given: Record<string, unknown> =
    typeof answer === 'object' && answer !== null ? { ...answer } : {}
  const data = options.data === undefined ? {} : { data: options.data.parse(given['data']) }
  if (options.answer === 'raw') return 'data' in data ? data.data : {}
  const extra = options.extra === undefined ? {} : Object(options.extra.parse(given))
  const message = typeof given['message'] === 'string' ? given['message'] : ''
  return { success: true, message, ...data, ...extra }
}
