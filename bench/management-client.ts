/** The management calls that the benchmarks need, over HTTP like any console. */

export type Session = {
  cookie: string
  /** Calls the management API; throws its error message. */
  call(method: string, path: string, body?: unknown): Promise<unknown>
}

export type NewToken = { name: string; remain_quota: number; unlimited_quota: boolean }

type Credentials = { url: string; username: string; password: string }

export async function signIn({ url, username, password }: Credentials): Promise<Session> {
  const response = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0])
  const cookie = cookies.join('; ')
  dataOf(`sign in as ${username}`, response.status, await response.text())
  return {
    cookie,
    call: async (method, path, body) => {
      const answer = await fetch(url + path, {
        method,
        headers: { cookie, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return dataOf(`${method} ${path}`, answer.status, await answer.text())
    },
  }
}

function dataOf(what: string, status: number, text: string): unknown {
  let answer: { success?: boolean; message?: string; data?: unknown } = {}
  try {
    answer = JSON.parse(text)
  } catch {
    throw new Error(`${what}: ${status} ${text.slice(0, 200)}`)
  }
  if (answer.success !== true) throw new Error(`${what}: ${status} ${answer.message}`)
  return answer.data
}

/** Creates a token for the session's user; returns its key as clients send it. */
export async function createToken(session: Session, token: NewToken): Promise<string> {
  const created = await session.call('POST', '/api/token/', { expired_time: -1, ...token })
  const key = memberOf(created, 'key')
  if (typeof key !== 'string') throw new Error('the answer to a new token has no key')
  return `sk-${key}`
}

export type NewChannel = {
  name: string
  base_url: string
  models: string
  /** If not set: OpenAI's type, with an arbitrary key. */
  type?: number
  key?: string
}

export async function createChannel(root: Session, channel: NewChannel) {
  await root.call('POST', '/api/channel/', {
    type: 1,
    key: 'sk-upstream',
    group: 'default',
    ...channel,
  })
}

/** Sets a user's quota and keeps the other fields. */
export async function giveQuota(root: Session, username: string, quota: number) {
  const found = await root.call('GET', `/api/user/search?keyword=${username}`)
  const user = Array.isArray(found)
    ? found.find((row) => memberOf(row, 'username') === username)
    : null
  const id = memberOf(user, 'id')
  const display_name = memberOf(user, 'display_name')
  await root.call('PUT', '/api/user/', { id, username, display_name, quota, group: 'default' })
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return new Map(Object.entries(value)).get(name)
}
