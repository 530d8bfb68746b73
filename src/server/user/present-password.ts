import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { Actor } from '../http/handler.ts'
import { requireProof } from '../http/proof.ts'
import { hashingCaller } from './password.ts'

/**
 * Whether a request comes with a session. Without one it comes with a system access token, which
 * scripts store in files. A leaked token must not be enough to take over the account, so every
 * change to how the account is signed in to requires a session or the current password.
 */
const hasSession = ({ sessionHash }: Actor): boolean => sessionHash !== ''

/** Throws `session_needed` for a request with an access token. */
export function requireSession(actor: Actor): void {
  if (!hasSession(actor)) throw new AppError('session_needed')
}

/**
 * Checks the current password before a new one is set. One API's consoles do not send it, so a
 * session may omit it. An access token must send it and cannot set a first password. Wrong
 * passwords are limited as in sign-in, separately for sessions and access tokens, so guesses with a
 * leaked token do not lock out the owner. Throws `old_password_needed`, `old_password_wrong`,
 * `session_needed`, `proof_required`, `too_many_password_attempts`, `busy`.
 */
export async function checkPresentPassword(
  app: App,
  call: { actor: Actor; address: string },
  given: string | undefined,
): Promise<void> {
  const { actor } = call
  const { passwords, rateLimits } = app
  if (actor.user.password === '') {
    // Users of an external sign-in provider have no password yet, so none that is sent is a proof.
    requireSession(actor)
    requireProof(app, actor)
    return
  }
  if (given === undefined) {
    if (hasSession(actor)) return
    throw new AppError('old_password_needed')
  }
  const limit = rateLimits.signIn
  const key = `present password ${hasSession(actor) ? 'session' : 'token'} ${actor.id}`
  // Counted before the comparison; otherwise parallel guesses would all pass.
  if (!(await limit.take(key))) {
    const minutes = Math.max(1, Math.ceil((await limit.waitSeconds(key)) / 60))
    throw new AppError('too_many_password_attempts', { minutes })
  }
  const fits = await passwords
    .verify(given, actor.user.password, hashingCaller(call))
    .catch(async (error: unknown) => {
      // No comparison took place, so it does not count as a guess.
      await limit.giveBack(key)
      throw error
    })
  if (!fits) throw new AppError('old_password_wrong')
  await limit.forget(key)
}
