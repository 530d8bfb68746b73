import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { oneApiTables, type Row, type Tables } from './one-api-tables.ts'
import { recordedBody } from './recorded-answer.ts'

/**
 * A small One API server of version 0.6.11, for testing the console against it. It responds as
 * recorded from a real one (`fixtures/recordings/`), keeps its rows in memory, and lacks
 * Gatehouse's extensions: those paths return 404, and the status has no member `gatehouse`.
 */
export interface OneApiServer {
  url: string
  /** Every request to `/api`, oldest first. */
  calls: SentCall[]
  /** Replaces the response to the next request for this path. */
  answerOnce(path: string, answer: { status: number; body: string }): void
  close(): Promise<void>
}

export interface SentCall {
  method: string
  path: string
  query: string
  body: unknown
}

interface Call extends SentCall {
  /** User of the session cookie. */
  username: string
}

type Answer = { status: number; body: unknown; cookie?: string }

const envelope = (members: object = {}): Answer => ({
  status: 200,
  body: { success: true, message: '', ...members },
})
const refusal = (message: string, status = 200): Answer => ({
  status,
  body: { success: false, message },
})
const unknownPath: Answer = {
  status: 404,
  body: recordedBody('public', 'unknown api path'),
}
const ROLES: Record<string, number> = { root: 100, adminone: 10, userone: 1 }
const PAGE_ROWS = 10

/** Serves the console built into `folder`, and the API. */
export async function startOneApi(folder: string): Promise<OneApiServer> {
  const tables = oneApiTables()
  const calls: SentCall[] = []
  const once = new Map<string, { status: number; body: string }>()
  const server = createServer((request, response) => {
    void answer(request, response)
  })

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname, search } = new URL(request.url ?? '/', 'http://one-api')
    if (!pathname.startsWith('/api/')) return sendConsole(response, folder, pathname)
    const call: Call = {
      method: request.method ?? 'GET',
      path: pathname.replace(/\/$/, ''),
      query: search,
      body: await bodyOf(request),
      username: /session=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? '',
    }
    const { username: _, ...sent } = call
    calls.push(sent)
    const planned = once.get(call.path)
    once.delete(call.path)
    if (planned !== undefined) return response.writeHead(planned.status).end(planned.body)
    const { status, body, cookie } = answerCall(tables, call)
    response.writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      // As One API does for every unknown path.
      ...(status === 404 ? { 'Cache-Control': 'max-age=604800' } : {}),
      ...(cookie === undefined ? {} : { 'Set-Cookie': cookie }),
    })
    return response.end(JSON.stringify(body))
  }

  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  // It listens on a port.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    answerOnce: (path, planned) => void once.set(path, planned),
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const text = Buffer.concat(chunks).toString()
  return text === '' ? undefined : JSON.parse(text)
}

function answerCall(tables: Tables, call: Call): Answer {
  const key = `${call.method} ${call.path.slice('/api/'.length)}`
  const open = openAnswers[key]
  if (open !== undefined) return open(call)
  const role = ROLES[call.username]
  if (role === undefined) {
    return { status: 401, body: recordedBody('public', 'self without a session') }
  }
  const [noun = ''] = call.path.slice('/api/'.length).split('/')
  if (noun === 'option') return role < 100 ? noRight : optionAnswer(tables, call)
  if (['channel', 'redemption', 'group'].includes(noun) && role < 10) return noRight
  const special = signedInAnswers[key]
  if (special !== undefined) return special(tables, call)
  const rows = tables.rows[noun]
  return rows === undefined ? unknownPath : rowAnswer(rows, call)
}

const noRight = refusal('无权进行此操作，权限不足')

const openAnswers: Record<string, (call: Call) => Answer> = {
  'GET status': () => ({
    status: 200,
    body: recordedBody('public', 'status of a new installation'),
  }),
  'GET notice': () => envelope({ data: '' }),
  'GET about': () => envelope({ data: '' }),
  'GET home_page_content': () => envelope({ data: '' }),
  'GET user/logout': () => ({ ...envelope(), cookie: 'session=; Path=/; Max-Age=0' }),
  'POST user/login': ({ body }) => {
    const { username } = Object(body)
    const [file, step] =
      username === 'root' ? ['public', 'sign in as root'] : ['users', 'sign in as user']
    return {
      status: 200,
      body: recordedBody(file, step),
      cookie: `session=${username}; Path=/; HttpOnly; Max-Age=2592000`,
    }
  },
}

const signedInAnswers: Record<string, (tables: Tables, call: Call) => Answer> = {
  'GET user/self': (_, { username }) => ({
    status: 200,
    body: recordedBody('account', username === 'root' ? 'self of root' : 'self of a user'),
  }),
  // For a user whose group has no channel, the list is null instead of empty.
  'GET user/available_models': () => envelope({ data: null }),
  'GET user/dashboard': () => ({
    status: 200,
    body: recordedBody('account', 'dashboard of a new user'),
  }),
  'GET group': () => ({ status: 200, body: recordedBody('channels', 'groups') }),
  'GET models': () => envelope({ data: { 1: ['gpt-4o-mini'], 3: null } }),
  'GET channel/models': () => ({ status: 200, body: { object: 'list', data: [{ id: 'gpt-4o' }] } }),
  'GET log': (tables, call) => pageOf(tables.logs, call),
  'GET log/stat': () => envelope({ data: { quota: 96 } }),
  'GET log/self': (tables, call) => pageOf(tables.ownLogs, call),
  'GET log/self/stat': () => envelope({ data: { quota: 96 } }),
}

/**
 * The settings: an array of strings without secrets. A value that is not a string cannot be
 * decoded.
 */
function optionAnswer(tables: Tables, { method, body }: Call): Answer {
  if (method === 'GET') {
    const data = [...tables.options].map(([key, value]) => ({ key, value }))
    return envelope({ data })
  }
  const { key, value } = Object(body)
  if (typeof value !== 'string') return refusal('无效的参数', 400)
  tables.options.set(key, value)
  return envelope()
}

function rowAnswer(rows: Row[], call: Call): Answer {
  const { method, path, query, body } = call
  const [, , , word = ''] = path.split('/')
  if (method === 'GET' && word === 'search') {
    const keyword = new URLSearchParams(query).get('keyword') ?? ''
    return envelope({ data: rows.filter((row) => String(row['name']).startsWith(keyword)) })
  }
  if (method === 'GET' && word === '') return pageOf(rows, call)
  if (method === 'POST') {
    const id = Math.max(0, ...rows.map((row) => row.id)) + 1
    rows.unshift({ ...Object(body), id, status: 1 })
    return envelope()
  }
  const id = method === 'PUT' ? Number(Object(body).id) : Number(word)
  const index = rows.findIndex((row) => row.id === id)
  const row = rows[index]
  if (row === undefined) return word === '' || id > 0 ? refusal('record not found') : unknownPath
  if (method === 'DELETE') rows.splice(index, 1)
  if (method === 'PUT') Object.assign(row, body)
  return method === 'DELETE' ? envelope() : envelope({ data: row })
}

function pageOf(rows: readonly Row[], { query }: Call): Answer {
  const page = Number(new URLSearchParams(query).get('p') ?? 0)
  return envelope({ data: rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS) })
}

const TYPES: Record<string, string> = { js: 'text/javascript', css: 'text/css', png: 'image/png' }

function sendConsole(response: ServerResponse, folder: string, path: string): void {
  const file = join(folder, path)
  if (path !== '/' && !path.includes('..') && existsSync(file)) {
    const type = TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
    response.writeHead(200, { 'Content-Type': type }).end(readFileSync(file))
    return
  }
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  response
    .writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
    .end(page.replaceAll('%GATEHOUSE_BASE%', '/').replaceAll('%GATEHOUSE_NONCE%', ''))
}
