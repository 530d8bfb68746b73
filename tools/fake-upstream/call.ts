import type { IncomingMessage } from 'node:http'
import { readDirectives, type Directives } from './directives.ts'
import type { Script } from './script.ts'

export type Json = Record<string, unknown>

/** One request as the fake upstream understands it. */
export type Call = {
  method: string
  /** Path without the `~words` segments, so that any base path prefix may stand before it. */
  path: string
  /** As it arrived. */
  rawPath: string
  query: URLSearchParams
  authorization: string
  headers: IncomingMessage['headers']
  bytes: Buffer
  /** The body as JSON; empty when it is none (form data, nothing). */
  json: Json
  model: string
  directives: Directives
  /** What the flaky counter is kept under: path and model as they arrived. */
  flakyKey: string
  /** The script that the model follows; absent: it answers as README.md says. */
  script?: Script | null
}

/** `words`: what steers it beside what its path, query, header and model say, which win. */
export function readCall(request: IncomingMessage, bytes: Buffer, words = ''): Call {
  const url = new URL(request.url ?? '/', 'http://upstream')
  const segments = decodePath(url.pathname).split('/')
  const json = parseJson(bytes)
  const model =
    modelInBody(json) ?? modelInPath(url.pathname) ?? formField(bytes, 'model') ?? 'unknown'
  return {
    method: request.method ?? 'GET',
    path: segments.filter((segment) => !segment.startsWith('~')).join('/'),
    rawPath: url.pathname,
    query: url.searchParams,
    authorization: request.headers.authorization ?? '',
    headers: request.headers,
    bytes,
    json,
    model,
    directives: readDirectives([
      words,
      ...segments.filter((segment) => segment.startsWith('~')).map((segment) => segment.slice(1)),
      url.searchParams.get('fake') ?? '',
      String(request.headers['x-fake-upstream'] ?? ''),
      model,
    ]),
    flakyKey: `${url.pathname} ${model}`,
  }
}

/** Tencent writes names with capitals; Spark calls a model a domain. */
const modelInBody = (json: Json): string | undefined =>
  textOf(json.model) ?? textOf(json.Model) ?? textOf(objectOf(objectOf(json.parameter).chat).domain)

const MODEL_IN_PATH =
  /\/deployments\/([^/]+)|\/models\/([^/:]+):|\/model\/([^/]+)\/(?:converse|invoke)|\/wenxinworkshop\/\w+\/([^/]+)/

/** Azure, Gemini, Bedrock and Baidu name the model in the path. */
function modelInPath(path: string): string | undefined {
  const found = MODEL_IN_PATH.exec(path)?.slice(1).find(Boolean)
  return found === undefined ? undefined : decodePath(found)
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function parseJson(bytes: Buffer): Json {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** A field of a multipart form, found by its name; the parts of a form are not taken apart. */
export function formField(bytes: Buffer, name: string): string | undefined {
  const text = bytes.toString('latin1')
  return new RegExp(`name="${name}"(?:\\r\\n[^\\r\\n]+)*\\r\\n\\r\\n([^\\r\\n]*)`).exec(text)?.[1]
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A positive whole number, or undefined. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}
