import type { Redactor } from './redactor.ts'

export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>

/** Headers whose value is needed to read a body. All others are recorded by name only. */
const SHOWN: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'openai-beta',
  'retry-after',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'x-accel-buffering',
  'x-amzn-errortype',
  'x-dashscope-sse',
  'x-gatehouse-adjusted',
  'x-gatehouse-cost',
  'x-gatehouse-dropped',
  'x-gatehouse-output-limit',
  'x-gatehouse-overhead-ms',
  'x-gatehouse-quota',
  'x-oneapi-request-id',
  'x-should-retry',
])
const SHOWN_PREFIX = /^(?:x-stainless-|x-ratelimit-|anthropic-ratelimit-)/
/** Query parameters whose value is recorded. */
const SHOWN_PARAMETERS: ReadonlySet<string> = new Set(['alt', 'api-version', 'beta', 'stream'])

const isShown = (name: string): boolean => SHOWN.has(name) || SHOWN_PREFIX.test(name)

const MASKED = '[redacted]'

/** Returns headers with lowercase names; values that may be secret are `[redacted]`. */
export function recordedHeaders(headers: HeaderValues, redactor: Redactor): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([written, value]): [string, string][] => {
      if (value === undefined) return []
      const name = redactor.text(written.toLowerCase())
      return [[name, isShown(name) ? redactor.text(String(value)) : MASKED]]
    }),
  )
}

/** Returns path and query without the values of parameters that may be secret. */
export function recordedPath(address: string, redactor: Redactor): string {
  const [path = '', query] = splitOnce(address, '?')
  if (query === undefined) return redactor.text(path)
  const shown = query.split('&').map((parameter) => {
    const [name = '', value] = splitOnce(parameter, '=')
    if (value === undefined) return MASKED
    return `${redactor.text(name)}=${SHOWN_PARAMETERS.has(name) ? redactor.text(value) : MASKED}`
  })
  return `${redactor.text(path)}?${shown.join('&')}`
}

/** Shorter values are ordinary words such as `cors`, which bodies contain, too. */
const SECRET_LENGTH_MIN = 8
/** Response headers that name an account. */
const OF_ACCOUNTS = /account|auth|cookie|email|key|org|project|session|team|tenant|token|user/

/**
 * Returns the values that are not recorded, whole and in parts, to mask their repetitions
 * elsewhere.
 */
export function secretsInHeaders(headers: HeaderValues, from: 'request' | 'response'): string[] {
  return Object.entries(headers).flatMap(([written, value]) => {
    const name = written.toLowerCase()
    const counts = !isShown(name) && (from === 'request' || OF_ACCOUNTS.test(name))
    return counts ? partsOf(String(value ?? '')) : []
  })
}

export function secretsInQuery(address: string): string[] {
  const [, query = ''] = splitOnce(address, '?')
  return query.split('&').flatMap((parameter) => {
    const [name = '', value = name] = splitOnce(parameter, '=')
    return SHOWN_PARAMETERS.has(name) ? [] : [...partsOf(value), ...partsOf(decoded(value))]
  })
}

const partsOf = (value: string): string[] =>
  [value, ...value.split(/[\s,;=]+/)].filter((part) => part.length >= SECRET_LENGTH_MIN)

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

function splitOnce(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}
