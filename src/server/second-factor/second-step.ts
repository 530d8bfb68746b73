import type { SignedIn } from '../../contract/user-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { CallContext } from '../http/handler.ts'
import { clearCookie, readCookie, setCookie } from '../http/own-cookie.ts'
import { randomText, sha256 } from '../secrets.ts'
import { startSession } from '../sign-in/start-session.ts'
import type { StoredUser } from '../user/user-store.ts'
import { secondStepMethods } from './required-factor.ts'
import { recoveryCodeHash, stepOf } from './one-time-password.ts'
import {
  adoptedCodeHashes,
  findChallenge,
  findSecondFactor,
  insertChallenge,
  takeChallenge,
  useRecoveryCode,
  useStep,
  type Challenge,
} from './second-factor-store.ts'

/** Cookie that binds a pending sign-in to the browser. Programs send `flow_token` instead. */
const CHALLENGE_COOKIE = 'second_factor'
/** Seconds to enter the code. */
const CHALLENGE_LIFE_SECONDS = 300
const CHALLENGE_LENGTH = 43

type SignInAnswer = Awaited<ReturnType<typeof startSession>> | SecondFactorAsked
type SecondFactorAsked = Pick<
  SignedIn,
  'role' | 'status' | 'require_2fa' | 'flow_token' | 'second_factor_methods'
>

/**
 * Ends a sign-in with the password or through a provider: starts the session, or asks for the
 * second factor if the user has one.
 */
export async function signInOrAsk(
  app: App,
  call: Omit<CallContext, 'actor'>,
  { user, mustChangePassword }: { user: StoredUser; mustChangePassword: boolean },
): Promise<SignInAnswer> {
  const methods = await secondStepMethods(app, user)
  if (methods.length === 0) {
    return startSession(app, call, { user, mustChangePassword })
  }
  const challenge = randomText(CHALLENGE_LENGTH)
  const nowSeconds = app.clock.nowSeconds()
  await insertChallenge(app.database.write, {
    idHash: sha256(challenge),
    userId: user.id,
    mustChangePassword,
    expiresAtSeconds: nowSeconds + CHALLENGE_LIFE_SECONDS,
    nowSeconds,
  })
  setCookie(app, call, { name: CHALLENGE_COOKIE, value: challenge, maxAge: CHALLENGE_LIFE_SECONDS })
  return {
    role: 0,
    status: 0,
    require_2fa: true,
    flow_token: challenge,
    second_factor_methods: methods,
  }
}

/**
 * Returns the pending sign-in for the token of the call or its cookie.
 * Throws `second_factor_expired`.
 */
export async function pendingSignIn(
  app: App,
  { request }: Pick<CallContext, 'request'>,
  flowToken: string,
): Promise<Challenge & { idHash: string }> {
  const id = flowToken || (readCookie(app, request, CHALLENGE_COOKIE) ?? '')
  const idHash = sha256(id)
  const found = await findChallenge(app.database.read, idHash, app.clock.nowSeconds())
  if (id === '' || found === undefined) throw new AppError('second_factor_expired')
  return { ...found, idHash }
}

/** Completes a pending sign-in; of two calls with the same token only one succeeds. */
export async function endPending(
  app: App,
  call: Pick<CallContext, 'request' | 'reply'>,
  idHash: string,
): Promise<void> {
  if (!(await takeChallenge(app.database.write, idHash)))
    throw new AppError('second_factor_expired')
  clearCookie(app, call, CHALLENGE_COOKIE)
}

/** A backup code of New API, without its hyphen. */
const ADOPTED_CODE = /^([A-Z0-9]{4})([A-Z0-9]{4})$/

/** Uses up a backup code that was adopted from New API as a bcrypt hash. */
async function spendAdoptedCode(app: App, userId: number, code: string): Promise<boolean> {
  const parts = ADOPTED_CODE.exec(code.toUpperCase().replaceAll(/[\s-]/g, ''))
  if (parts === null) return false
  const written = `${parts[1]}-${parts[2]}`
  for (const hash of await adoptedCodeHashes(app.database.read, userId)) {
    const fits = await app.passwords.verify(written, hash, `user ${userId}`)
    if (fits) return useRecoveryCode(app.database.write, userId, hash)
  }
  return false
}

/**
 * Checks a code of the authenticator app, or a recovery code, which is used up by it. A factor that
 * is not enabled yet proves nothing, except for `isFirst`, the code that enables it. Wrong codes
 * are limited for each user. Throws `second_factor_missing`, `second_factor_wrong`,
 * `second_factor_attempts`.
 */
export async function checkCode(
  app: App,
  userId: number,
  code: string,
  { isFirst = false }: { isFirst?: boolean } = {},
): Promise<void> {
  const { database, rateLimits, clock } = app
  const factor = await findSecondFactor(database.read, userId)
  if (factor === undefined || !(factor.isEnabled || isFirst)) {
    throw new AppError('second_factor_missing')
  }
  const key = `second factor ${userId}`
  // Counted before the comparison, otherwise parallel guesses would all pass.
  if (!(await rateLimits.signIn.take(key))) {
    const minutes = Math.max(1, Math.ceil((await rateLimits.signIn.waitSeconds(key)) / 60))
    throw new AppError('second_factor_attempts', { minutes })
  }
  const step = stepOf(factor.secret, code, clock.nowSeconds())
  const fits =
    step === null
      ? factor.isEnabled &&
        ((await useRecoveryCode(database.write, userId, recoveryCodeHash(code))) ||
          (await spendAdoptedCode(app, userId, code)))
      : await useStep(database.write, userId, step)
  if (!fits) throw new AppError('second_factor_wrong')
  await rateLimits.signIn.forget(key)
}
