import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { UpstreamRequest } from './upstream-call.ts'
import type { StepAnswer, Steps } from './upstream-steps.ts'

/** Requests and answers of a walk's steps, as JSON. */

/** What a request or an answer says; nothing, where it is no object. */
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

/** An answer with a good status that is not what was asked for. */
export const unusable = (message: string): StepAnswer =>
  jsonAnswer({ error: { message, type: 'upstream_error', code: 'bad_response' } }, 502)

const MS_PER_SECOND = 1000

/** When an answer was sent, by its own head; 0: it does not say. */
export function sentSeconds({ headers }: StepAnswer): number {
  const ms = Date.parse(String(headers.date))
  return Number.isNaN(ms) ? 0 : Math.floor(ms / MS_PER_SECOND)
}

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
