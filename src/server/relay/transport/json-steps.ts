import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { UpstreamRequest } from './upstream-call.ts'
import type { StepAnswer, Steps } from './upstream-steps.ts'

/** Helpers for the JSON requests and responses of a multi-step call. */

/** Returns the JSON object in a request or response; an empty one if the body is no object. */
export const recordIn = ({ body }: { body: Buffer | null }): JsonRecord =>
  recordOr(body === null ? null : parseJson(body.toString('utf8')))

export const withBody = (request: UpstreamRequest, body: JsonRecord): UpstreamRequest => ({
  ...request,
  body: Buffer.from(JSON.stringify(body)),
})

export const jsonAnswer = (value: JsonRecord, status = 200): StepAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

/** Returns an error for a success response with unexpected content. */
export const unusable = (message: string): StepAnswer =>
  jsonAnswer({ error: { message, type: 'upstream_error', code: 'bad_response' } }, 502)

const MS_PER_SECOND = 1000

/** Returns when a response was sent, in Unix seconds, from its `Date` header; 0 if missing. */
export function sentSeconds({ headers }: StepAnswer): number {
  const ms = Date.parse(String(headers.date))
  return Number.isNaN(ms) ? 0 : Math.floor(ms / MS_PER_SECOND)
}

/** Sends one request after the other; the first refusal is returned for all. */
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
