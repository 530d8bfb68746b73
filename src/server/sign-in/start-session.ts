import type { SignedIn } from '../../contract/user-api.ts'
import type { App } from '../app.ts'
import type { CallContext } from '../http/handler.ts'
import { readCookie, setCookie } from '../http/own-cookie.ts'
import { SESSION_COOKIE, SESSION_LIFE_SECONDS } from '../http/sessions.ts'
import { mustSetUpFactor } from '../second-factor/required-factor.ts'
import type { StoredUser } from '../user/user-store.ts'
import { noticeSignIn } from './sign-in-notice.ts'

/** Maximum number of stored characters of a browser's name. */
const USER_AGENT_LENGTH_MAX = 400

/**
 * Completes every successful sign-in: creates a session and cookie, ends the session of the
 * request, and returns the user's public data.
 */
export async function startSession(
  app: App,
  call: Omit<CallContext, 'actor'>,
  { user, mustChangePassword }: { user: StoredUser; mustChangePassword: boolean },
): Promise<
  Pick<SignedIn, 'id' | 'username' | 'role' | 'status'> & { display_name: string | null }
> {
  const { request, address, requestId } = call
  const former = readCookie(app, request, SESSION_COOKIE)
  if (former !== undefined) await app.sessions.end(former)
  const userAgent = (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_LENGTH_MAX)
  const value = await app.sessions.start(user.id, mustChangePassword, {
    comparedWith: user,
    userAgent,
    address,
  })
  setCookie(app, call, { name: SESSION_COOKIE, value, maxAge: SESSION_LIFE_SECONDS })
  noticeSignIn(app, user, { userAgent, address })
  app.trace.info({ userId: user.id, address, requestId }, 'a user signed in')
  const { id, username, display_name, role, status } = user
  return {
    id,
    username,
    display_name,
    role,
    status,
    ...(mustChangePassword ? { must_change_password: true } : {}),
    ...((await mustSetUpFactor(app, user)) ? { must_set_up_second_factor: true } : {}),
  }
}
