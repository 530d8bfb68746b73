import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received request. */
export interface Question {
  method: string
  url: URL
  headers: IncomingMessage['headers']
  /** Members of a JSON body or a form. */
  body: Record<string, unknown>
}

export interface Reply {
  status?: number
  /** Sent as JSON, or as it is if it is a string. */
  body?: unknown
  /** Redirects the browser to this address. */
  location?: string
  type?: string
}

/** Fault of a path: replaces its response or a part of it. */
export type Trouble = 'fault' | 'silence' | 'cut' | 'not-json' | 'no-object' | 'huge' | Reply

export interface ProviderServer {
  url: string
  /** Sets the fault of a path; null ends it. */
  trouble(path: string, what: Trouble | null): void
  /** Requests since the last invocation. */
  seen(): Question[]
  close(): Promise<void>
}

export interface ServerPlan {
  port: number
  answer(question: Question): Reply | Promise<Reply>
}

/** A library's request handler instead of planned responses. */
export interface HandlerPlan {
  port: number
  handle(request: IncomingMessage, response: ServerResponse): void
}

const HUGE_BYTES = 10 * 2 ** 20
const NOT_FOUND: Reply = { status: 404, body: {} }

/** Starts a real HTTP server on loopback with planned responses and optional faults. */
export async function startProviderServer(plan: ServerPlan | HandlerPlan): Promise<ProviderServer> {
  const troubles = new Map<string, Trouble>()
  let seen: Question[] = []
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://provider.invalid')
    const trouble = troubles.get(url.pathname)
    if (trouble !== undefined && typeof trouble === 'string') {
      misbehave(response, trouble)
      return
    }
    if (trouble === undefined && 'handle' in plan) {
      plan.handle(request, response)
      return
    }
    void readBody(request).then(async (body) => {
      const question = { method: request.method ?? '', url, headers: request.headers, body }
      seen.push(question)
      const planned = 'handle' in plan ? NOT_FOUND : await plan.answer(question)
      send(response, trouble ?? planned)
    })
  })
  await new Promise<void>((resolve) => server.listen(plan.port, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    trouble(path, what) {
      if (what === null) troubles.delete(path)
      else troubles.set(path, what)
    },
    seen() {
      const since = seen
      seen = []
      return since
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  if (String(request.headers['content-type']).includes('urlencoded')) {
    return Object.fromEntries(new URLSearchParams(text))
  }
  try {
    const parsed: unknown = JSON.parse(text)
    return Object(parsed)
  } catch {
    return {}
  }
}

function send(response: ServerResponse, { status = 200, body, location, type }: Reply): void {
  if (location !== undefined) {
    response.writeHead(302, { location }).end()
    return
  }
  const isText = typeof body === 'string'
  response.writeHead(status, {
    'content-type': type ?? (isText ? 'text/plain' : 'application/json; charset=utf-8'),
  })
  response.end(isText ? body : JSON.stringify(body ?? {}))
}

function misbehave(response: ServerResponse, trouble: Extract<Trouble, string>): void {
  const json = { 'content-type': 'application/json' }
  switch (trouble) {
    case 'fault':
      response.writeHead(500, json).end('{"error":"the provider stumbled over secret-xyz"}')
      return
    case 'silence':
      return
    case 'cut':
      response.writeHead(200, { ...json, 'content-length': '1000' })
      response.write('{"id":1')
      setTimeout(() => response.destroy(), 20)
      return
    case 'not-json':
      response.writeHead(200, json).end('<html>sign in first</html>')
      return
    case 'no-object':
      response.writeHead(200, json).end('[1]')
      return
    case 'huge':
      response.writeHead(200, json).end(`{"id":1,"filler":"${'x'.repeat(HUGE_BYTES)}"}`)
      return
    default:
      trouble satisfies never
  }
}

/** A page on which the user chooses an identity or denies the sign-in. */
export function chooserPage(
  title: string,
  choices: readonly { label: string; url: string }[],
): Reply {
  const links = choices.map(
    ({ label, url }) => `<p><a href="${escaped(url)}">${escaped(label)}</a>`,
  )
  return {
    type: 'text/html; charset=utf-8',
    body: `<!doctype html><title>${escaped(title)}</title><h1>${escaped(title)}</h1>${links.join('')}`,
  }
}

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

/** Adds query members to an address. */
export function withQuery(address: string, members: Record<string, string>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value)
  return url.href
}
