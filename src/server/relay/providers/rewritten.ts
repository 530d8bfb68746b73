import type { Wire } from '../dialect/wire.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'
import { StepFailed, type StepAnswer, type Steps, type Walk } from '../transport/upstream-steps.ts'

/**
 * For providers that are asked in OpenAI's words and take and answer others of their own: the
 * request is written anew by edits, where what cannot be said can still be refused, and the answer
 * by a walk.
 */

export const membersOf = (body: ScannedBody): JsonRecord =>
  recordOr(parseJson(body.bytes.toString('utf8')))

/** The member that says what pictures are wanted as: for the walk, and not sent. */
export const WANTED = 'response_format'
/** Words about a picture that ask for what is done anyhow. */
export const AS_USUAL: ReadonlySet<unknown> = new Set(['auto', 'standard', 'vivid', null])

/** Turns a body with these members into one with those. */
export function rewritten(asked: JsonRecord, sent: JsonRecord): MemberEdit[] {
  const gone = Object.keys(asked).filter((name) => !Object.hasOwn(sent, name))
  return [
    ...gone.map((remove) => ({ remove })),
    ...Object.entries(sent).map(([set, value]) => ({ set, json: JSON.stringify(value) })),
  ]
}

/** Members of a written request, and one that is for the walk alone and is not sent. */
export function takenOut(
  { body }: UpstreamRequest,
  name: string,
): { value: unknown; sent: JsonRecord } {
  const { [name]: value, ...sent } = recordOr(
    body === null ? null : parseJson(body.toString('utf8')),
  )
  return { value, sent }
}

export const withBody = (request: UpstreamRequest, body: JsonRecord): UpstreamRequest => ({
  ...request,
  body: Buffer.from(JSON.stringify(body)),
})

export const recordIn = ({ body }: StepAnswer): JsonRecord =>
  recordOr(parseJson(body.toString('utf8')))

export const jsonAnswer = (value: JsonRecord, status = 200): StepAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

const MS_PER_SECOND = 1000

/** When an answer was sent, by its own head; 0: it does not say. */
export function sentSeconds({ headers }: StepAnswer): number {
  const ms = Date.parse(String(headers.date))
  return Number.isNaN(ms) ? 0 : Math.floor(ms / MS_PER_SECOND)
}

/** An answer with a good status that is not what was asked for. */
export const unusable = (message: string): StepAnswer =>
  jsonAnswer({ error: { message, type: 'upstream_error', code: 'bad_response' } }, 502)

/** One request after the other; the first that is refused is the answer to all. */
export async function fetchEach(
  steps: Steps,
  request: UpstreamRequest,
  bodies: readonly JsonRecord[],
): Promise<{ answers: JsonRecord[] } | { refused: StepAnswer }> {
  const answers: JsonRecord[] = []
  for (const body of bodies) {
    const answer = await steps.fetch(withBody(request, body))
    if (answer.status !== 200) return { refused: answer }
    answers.push(recordIn(answer))
  }
  return { answers }
}

const DATA_URL = /^data:[^,]*;base64,/
/** Of all of them together: no more than the relay takes of an answer. */
const FILES_LENGTH_MAX = 120 * 1024 * 1024

/**
 * Pictures that an answer names by their addresses, as the client wants them: so, or as their
 * bytes. `askFor`: the request for one; null: it lies where nobody here goes, which fails the call.
 */
export async function picturesAt(
  steps: Steps,
  addresses: readonly string[],
  { wanted, askFor }: { wanted: unknown; askFor: (address: string) => UpstreamRequest | null },
): Promise<JsonRecord[]> {
  if (wanted !== 'b64_json') return addresses.map((url) => ({ url }))
  const pictures: JsonRecord[] = []
  let length = 0
  for (const address of addresses) {
    const inline = DATA_URL.exec(address)?.[0].length
    const bytes =
      inline === undefined ? await fileAt(steps, askFor(address)) : address.slice(inline)
    length += bytes.length
    if (length > FILES_LENGTH_MAX) throw new StepFailed('cut')
    pictures.push({ b64_json: bytes })
  }
  return pictures
}

/** In base64. */
async function fileAt(steps: Steps, asking: UpstreamRequest | null): Promise<string> {
  if (asking === null) throw new StepFailed('unreachable')
  const { status, body } = await steps.fetch(asking)
  if (status !== 200) throw new StepFailed('cut')
  return body.toString('base64')
}

export const inParts = <T>(values: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  )

/** The sum, or null when one of them is no count. */
export function sumOfCounts(counts: readonly unknown[]): number | null {
  let sum = 0
  for (const count of counts) {
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return null
    sum += count
  }
  return sum
}

/** A whole answer of an upstream that only streams: its events as one. */
export const gathered =
  ({ accept, isStream }: Wire, whole: (bytes: Buffer) => JsonRecord): Walk =>
  async (steps, request) => {
    const headers = { ...request.headers, accept }
    const answer = await steps.fetch({ ...request, headers })
    const isEvents = isStream(String(answer.headers['content-type'] ?? ''))
    return answer.status === 200 && isEvents ? jsonAnswer(whole(answer.body)) : answer
  }
