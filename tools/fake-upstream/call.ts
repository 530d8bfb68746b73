import type { IncomingMessage } from 'node:http'
import { readDirectives, type Directives } from './directives.ts'
import type { Script } from './script.ts'

export type Json = Record<string, unknown>

/** A request, parsed. */
export type Call = {
  method: string
  /** Path without the `~words` segments, so that any base path prefix is possible. */
  path: string
  /** The path as received. */
  rawPath: string
  query: URLSearchParams
  authorization: string
  headers: IncomingMessage['headers']
  bytes: Buffer
  /** The body as JSON; empty if it is not JSON (form data, no body). */
  json: Json
  model: string
  directives: Directives
  /** Key of the counter for `flaky-<n>`: path and model as received. */
  flakyKey: string
  /** The script that the model follows; without one it responds as README.md describes. */
  script?: Script | null
}

/**
 * Parses a request. `words` are additional directives, which those in path, query, header and model
 * override.
 */
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

/** Tencent capitalizes names; Spark calls a model a domain. */
const modelInBody = (json: Json): string | undefined =>
  textOf(json.model) ?? textOf(json.Model) ?? textOf(objectOf(objectOf(json.parameter).chat).domain)

const MODEL_IN_PATH =
  /\/deployments\/([^/]+)|\/models\/([^/:]+):|\/model\/([^/]+)\/(?:converse|invoke)|\/wenxinworkshop\/\w+\/([^/]+)/

/** Azure, Gemini, Bedrock and Baidu have the model in the path. */
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

/** Returns a field of a multipart form by name, without parsing the form. */
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

/** A positive integer, or undefined. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}
