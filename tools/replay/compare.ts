/**
 * Compares a response with that of a recorded One API server.
 *
 * Status, members, types and values must agree; additional members are allowed. Values that differ
 * between runs are compared by type, messages by presence: the wording is ours.
 */
import type { Answer, Step } from './recording.ts'

export type Difference = { at: string; want: unknown; got: unknown }

type Json = Record<string, unknown>
/** Path of a value, and the member's name if it is one. */
type Place = { at: string; key?: string }

/** Members whose value differs in every run. */
const volatileKeys = new Set([
  'id',
  'key',
  'access_token',
  'created_time',
  'created_at',
  'accessed_time',
  'redeemed_time',
  'test_time',
  'balance_updated_time',
  'expired_time',
  'response_time',
  'elapsed_time',
  'request_id',
  'start_time',
  'version',
  'server_address',
  'aff_code',
  'password',
  'user_id',
  'channel_id',
  'created',
  'time',
  'Day',
])
/** The only message that consoles compare: an external sign-in that linked an account. */
const LITERAL_MESSAGE = 'bind'

/** Compares the recorded response of a step with the given one, as the step's `compare` says. */
export function compareStep(step: Step, got: Answer): Difference[] {
  const { answer } = step
  const found: Difference[] = []
  if (answer.status !== got.status) {
    found.push({ at: 'status', want: answer.status, got: got.status })
  }
  const [wantType, gotType] = [mediaType(answer), mediaType(got)]
  if (wantType !== '' && wantType !== gotType) {
    found.push({ at: 'content-type', want: wantType, got: gotType })
  }
  return [...found, ...compareBodies(step, got.body)]
}

function compareBodies({ compare, answer }: Step, got: unknown): Difference[] {
  switch (compare) {
    case 'status':
      return []
    case 'shape':
      return differences(shapeOf(answer.body), shapeOf(got), { at: 'body' })
    case 'set':
      return differences(withSortedData(answer.body), withSortedData(got), { at: 'body' })
    default:
      return differences(answer.body, got, { at: 'body' })
  }
}

/** Every path where `got` differs from `want`. */
export function differences(want: unknown, got: unknown, place: Place = { at: '' }): Difference[] {
  const { at } = place
  // A null in a recording matches any empty value.
  if (want === null || want === undefined) return isEmpty(got) ? [] : [{ at, want, got }]
  if (Array.isArray(want)) return listDifferences(want, got, at)
  if (isObject(want)) {
    if (!isObject(got) && !Array.isArray(got)) {
      return [{ at, want: 'object', got: got === null ? 'null' : typeof got }]
    }
    const members = new Map(Object.entries(got))
    return Object.entries(want).flatMap(([key, part]) =>
      differences(part, members.get(key), { at: at === '' ? key : `${at}.${key}`, key }),
    )
  }
  return scalarDifference(want, got, place)
}

function listDifferences(want: unknown[], got: unknown, at: string): Difference[] {
  if (!Array.isArray(got)) {
    const isNothing = want.length === 0 && (got === null || got === undefined)
    return isNothing ? [] : [{ at, want: 'array', got: typeof got }]
  }
  if (want.length !== got.length) {
    return [{ at, want: `${want.length} items`, got: `${got.length} items` }]
  }
  return want.flatMap((part, index) => differences(part, got[index], { at: `${at}[${index}]` }))
}

function scalarDifference(want: unknown, got: unknown, { at, key = '' }: Place): Difference[] {
  if (typeof want !== typeof got) return [{ at, want: described(want), got: described(got) }]
  if (volatileKeys.has(key)) return []
  if (typeof want !== 'string' || typeof got !== 'string') {
    return want === got ? [] : [{ at, want, got }]
  }
  const isSentence = key === 'message' || (key === 'content' && at.startsWith('body.data'))
  const agrees =
    isSentence && want !== LITERAL_MESSAGE
      ? (want === '') === (got === '')
      : withoutMoments(want) === withoutMoments(got)
  return agrees ? [] : [{ at, want, got }]
}

/** Replaces ids and times in a text, which differ in every run. */
function withoutMoments(text: string): string {
  return text
    .replace(/request id: ?\w+/g, 'request id: *')
    .replace(/20\d{2}[-/]\d{2}[-/]\d{2}[ T][\d:]+/g, '*')
    .replace(/"created":\d+/g, '"created":*')
    .replace(/chatcmpl-\w{20,}/g, 'chatcmpl-*')
    .replace(/deleted_[0-9a-f]{32}/g, 'deleted_*')
}

/** Types only: scalars by their type, lists by their first row. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shapeOf(part)]))
  }
  return value === null ? null : typeof value
}

/** Sorts the `data` rows of the body, independent of the order in which they were written. */
function withSortedData(body: unknown): unknown {
  if (!isObject(body) || !Array.isArray(body.data)) return body
  return {
    ...body,
    data: body.data.toSorted((one, other) => (rowName(one) < rowName(other) ? -1 : 1)),
  }
}

function rowName(row: unknown): string {
  return String(isObject(row) ? (row.key ?? row.name ?? row) : row)
}

function mediaType(answer: Answer): string {
  return (answer.headers['content-type'] ?? '').split(';')[0] ?? ''
}

function described(value: unknown): string {
  return value === undefined ? 'nothing' : `${typeof value} ${JSON.stringify(value)}`
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
