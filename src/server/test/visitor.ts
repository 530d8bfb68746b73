import { walk } from '../../../tools/sign-in-providers/walk.ts'
import type { TestAnswer, TestServer } from './test-app.ts'

/** A browser that is redirected to a provider and back; its cookie is set by the responses. */
export interface Visitor {
  cookie?: string
}

/** Returns a cookie from a response, in the form that browsers send. */
export const cookieOf = (answer: TestAnswer, name: string): string | undefined =>
  [answer.headers['set-cookie'] ?? []]
    .flat()
    .find((line) => line.startsWith(`${name}=`))
    ?.split(';')[0]

/** Requests a state with `query`; the visitor keeps the cookie. */
export async function leave(
  server: TestServer,
  visitor: Visitor,
  query: string,
): Promise<TestAnswer> {
  const answer = await server.call('GET', `/api/oauth/state?${query}`, { as: visitor })
  const cookie = cookieOf(answer, 'sign_in')
  if (cookie !== undefined) visitor.cookie = cookie
  return answer
}

/**
 * Returns the parameters of the provider's redirect. `choice` selects the user, in the provider's
 * format.
 */
export const agree = (
  server: TestServer,
  left: TestAnswer,
  choice: string,
): Promise<Record<string, string>> =>
  walk(`${String(left.json['authorize_url'])}&${choice}`, server.url)

/** Sends the request of the callback page. */
export const handleCallback = (
  server: TestServer,
  visitor: Visitor,
  { provider, members }: { provider: string; members: Record<string, string> },
): Promise<TestAnswer> =>
  server.call('GET', `/api/oauth/${provider}?${new URLSearchParams(members)}`, { as: visitor })
