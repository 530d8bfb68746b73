import { randomBytes } from 'node:crypto'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { callHttp, HttpCallFailed, jsonMembers } from '../egress/http-call.ts'
import type { CallContext } from '../http/handler.ts'
import { readCookie, setCookie } from '../http/own-cookie.ts'
import { sha256 } from '../secrets.ts'
import { insertHumanCheck, isHumanCheckValid } from './human-check-store.ts'

/**
 * Cookie of a visitor who passed. The server stores the passed check for ten minutes, because a
 * Turnstile token is valid once and registration takes two requests.
 */
const HUMAN_COOKIE = 'human_check'
const LIFE_SECONDS = 600

const VERIFY_TIMEOUT_MS = 8000
const VERIFY_ANSWER_BYTES_MAX = 16 * 1024
const VERIFY_PATH = '/turnstile/v0/siteverify'

/**
 * Requires a passed check while it is enabled. Throws `human_check_needed`, `human_check_failed`,
 * `human_check_unreachable`. If the verification fails for any reason, the client does not pass.
 */
export async function passHumanCheck(
  app: App,
  call: Pick<CallContext, 'request' | 'reply' | 'address'>,
  answer: string,
): Promise<void> {
  const { options, database, clock } = app
  if (!options.flag('TurnstileCheckEnabled')) return
  const nowSeconds = clock.nowSeconds()
  const known = readCookie(app, call.request, HUMAN_COOKIE)
  if (known && (await isHumanCheckValid(database.read, sha256(known), nowSeconds))) return
  if (answer === '') throw new AppError('human_check_needed')
  if (!(await isHuman(app, answer, call.address))) throw new AppError('human_check_failed')
  const id = randomBytes(24).toString('base64url')
  await insertHumanCheck(database.write, {
    idHash: sha256(id),
    nowSeconds,
    expiresAtSeconds: nowSeconds + LIFE_SECONDS,
  })
  setCookie(app, call, { name: HUMAN_COOKIE, value: id, maxAge: LIFE_SECONDS })
}

/**
 * Calls Cloudflare's siteverify: a form with secret, response and remote IP; the JSON reply has
 * `success`.
 */
async function isHuman(
  { options, config, egress, trace }: App,
  answer: string,
  address: string,
): Promise<boolean> {
  try {
    const { status, text } = await callHttp(egress, {
      url: config.TURNSTILE_BASE_URL + VERIFY_PATH,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        secret: options.text('TurnstileSecretKey'),
        response: answer,
        remoteip: address,
      }).toString(),
      timeoutMs: VERIFY_TIMEOUT_MS,
      bytesMax: VERIFY_ANSWER_BYTES_MAX,
    })
    const verdict = jsonMembers(text)?.['success']
    if (typeof verdict === 'boolean') return verdict
    trace.warn({ status }, 'unexpected response of the human check')
  } catch (error) {
    if (!(error instanceof HttpCallFailed)) throw error
    trace.warn({ reason: error.reason }, 'the human check cannot be reached')
  }
  throw new AppError('human_check_unreachable')
}
