import { walk } from '../../../tools/sign-in-providers/walk.ts'
import type { TestAnswer, TestServer } from './test-app.ts'

/** A browser that goes to a provider and comes back; its cookie is what the answers set. */
export interface Visitor {
  cookie?: string
}

/** A cookie that an answer set, as the browser sends it. */
export const cookieOf = (answer: TestAnswer, name: string): string | undefined =>
  [answer.headers['set-cookie'] ?? []]
    .flat()
    .find((line) => line.startsWith(`${name}=`))
    ?.split(';')[0]

/** Asks for a state, as `query` says; the visitor keeps the cookie that belongs to it. */
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

/** What the provider sends a person back with. `choice` says who it is, in the provider's way. */
export const agree = (
  server: TestServer,
  left: TestAnswer,
  choice: string,
): Promise<Record<string, string>> =>
  walk(`${String(left.json['authorize_url'])}&${choice}`, server.url)

/** The callback page's call. */
export const handleCallback = (
  server: TestServer,
  visitor: Visitor,
  { provider, members }: { provider: string; members: Record<string, string> },
): Promise<TestAnswer> =>
  server.call('GET', `/api/oauth/${provider}?${new URLSearchParams(members)}`, { as: visitor })
