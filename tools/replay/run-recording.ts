import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Step } from './recording.ts'

export type RanStep = Step & { got: Answer }
/**
 * Values for `{{name}}` in the steps; `upstream` and `rootPassword` are given, others are saved.
 */
export type Variables = Record<string, unknown>
type Run = { base: string; variables: Variables; jars: Map<string, Map<string, string>> }

const CALL_TIMEOUT_MS = 30_000
/** The text of a longer HTML page is not recorded, only that it is a page. */
const PAGE_CHARACTERS_MAX = 500
const keptHeaders = [
  'content-type',
  'location',
  'access-control-allow-origin',
  'access-control-allow-headers',
  'access-control-allow-methods',
]
/** Headers that belong to the HTTP client rather than the message. */
const clientHeaders = new Set([
  'host',
  'content-length',
  'user-agent',
  'accept-encoding',
  'connection',
  'traceparent',
])

/** Makes the calls of a recording in order; returns each step with its response. */
export async function runRecording(options: {
  base: string
  steps: Step[]
  variables: Variables
}): Promise<RanStep[]> {
  const run: Run = { base: options.base, variables: { ...options.variables }, jars: new Map() }
  const ran: RanStep[] = []
  for (const step of options.steps) {
    if (step.wait !== undefined) await sleep(step.wait)
    const got = await runStep(run, step)
    if (step.upstream) got.upstream = await seenByUpstream(String(run.variables.upstream))
    ran.push({ ...step, got: withoutUpstreamAddress(got, run.variables) })
  }
  return ran
}

async function runStep(run: Run, step: Step): Promise<Answer> {
  const { base, variables } = run
  const body = requestBody(step, variables)
  const jar = jarOf(run, step)
  try {
    const reply = await call(base, {
      method: step.method ?? 'GET',
      path: encodeURI(fillText(step.path, variables)),
      headers: requestHeaders(run, step, body),
      body,
    })
    for (const line of reply.headers['set-cookie'] ?? []) {
      const pair = line.split(';')[0] ?? ''
      const at = pair.indexOf('=')
      jar.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const got = { status: reply.status, headers: keep(reply.headers), body: readBody(reply) }
    for (const [name, where] of Object.entries(step.save ?? {})) variables[name] = pick(got, where)
    return step.compare === 'status' ? { ...got, body: null } : got
  } catch (error) {
    return { status: 0, headers: {}, body: error instanceof Error ? error.message : String(error) }
  }
}

function jarOf({ jars }: Run, step: Step): Map<string, string> {
  const owner = step.as ?? 'anonymous'
  const jar = jars.get(owner) ?? new Map<string, string>()
  jars.set(owner, jar)
  return jar
}

function requestBody(step: Step, variables: Variables): string | undefined {
  if (step.raw !== undefined) return fillText(step.raw, variables)
  return step.body === undefined ? undefined : JSON.stringify(fill(step.body, variables))
}

function requestHeaders(run: Run, step: Step, body: string | undefined) {
  const { base, variables } = run
  const headers: Record<string, string> = {
    origin: base,
    'sec-fetch-site': 'same-origin',
    'accept-language': 'zh-CN,zh',
  }
  for (const [name, value] of Object.entries(step.headers ?? {})) {
    headers[name] = fillText(value, variables)
  }
  if (step.auth !== undefined) headers.authorization = fillText(step.auth, variables)
  const cookies = [...jarOf(run, step)].map(([name, value]) => `${name}=${value}`).join('; ')
  if (cookies !== '' && step.as !== undefined) headers.cookie = cookies
  if (step.body !== undefined && step.raw === undefined)
    headers['content-type'] ??= 'application/json'
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body))
  return headers
}

type Request = {
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
}
type Reply = { status: number; headers: http.IncomingHttpHeaders; body: Buffer }

function call(base: string, request: Request): Promise<Reply> {
  const { hostname, port } = new URL(base)
  const { method, path, headers, body } = request
  return new Promise((resolve, reject) => {
    const options = { host: hostname, port, method, path, headers, agent: false as const }
    const sent = http.request(options, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const status = response.statusCode ?? 0
        resolve({ status, headers: response.headers, body: Buffer.concat(parts) })
      })
    })
    sent.setTimeout(CALL_TIMEOUT_MS, () => sent.destroy(new Error('no answer within 30 s')))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** JSON as its value, other texts as they are, binary as its size, long pages as pages. */
function readBody({ headers, body }: Reply): unknown {
  const type = headers['content-type'] ?? ''
  const text = body.toString()
  if (/json/.test(type)) return parseOr(text)
  if (/audio|image|octet/.test(type)) return { bytes: body.length }
  return /html/.test(type) && text.length > PAGE_CHARACTERS_MAX ? { html: true } : text
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function keep(headers: http.IncomingHttpHeaders): Record<string, string> {
  const kept = keptHeaders.map((name): [string, unknown] => [name, headers[name]])
  return Object.fromEntries(kept.flatMap(([name, value]) => (value ? [[name, String(value)]] : [])))
}

async function seenByUpstream(upstream: string): Promise<unknown> {
  const request = { method: 'GET', path: '/__seen', headers: {}, body: undefined }
  const seen: unknown = JSON.parse((await call(upstream, request)).body.toString())
  if (!Array.isArray(seen)) return seen
  return seen.map((entry: { headers: Record<string, string> }) => {
    const headers = Object.entries(entry.headers).filter(([name]) => !clientHeaders.has(name))
    return { ...entry, headers: Object.fromEntries(headers) }
  })
}

function withoutUpstreamAddress(got: Answer, variables: Variables): Answer {
  if (typeof variables.upstream !== 'string') return got
  // Replacing text within JSON strings keeps the shape.
  return JSON.parse(JSON.stringify(got).replaceAll(variables.upstream, '{{upstream}}')) as Answer
}

function fillText(text: string, variables: Variables): string {
  return text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) =>
    name in variables ? String(variables[name]) : whole,
  )
}

/**
 * Fills every text in a value; a text that is a single variable becomes its value, such as a
 * number.
 */
function fill(value: unknown, variables: Variables): unknown {
  if (typeof value === 'string') {
    const name = /^\{\{(\w+)\}\}$/.exec(value)?.[1]
    return name !== undefined && name in variables ? variables[name] : fillText(value, variables)
  }
  if (Array.isArray(value)) return value.map((part) => fill(part, variables))
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, part]) => [key, fill(part, variables)])
    return Object.fromEntries(members)
  }
  return value
}

function pick(value: unknown, dotted: string): unknown {
  let found = value
  for (const key of dotted.split('.')) {
    if (typeof found !== 'object' || found === null) return undefined
    found = new Map(Object.entries(found)).get(key)
  }
  return found
}
