import { parseJson, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { recordIn } from '../../transport/json-steps.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'

/**
 * For providers that are asked in OpenAI's words and take and answer others of their own: the
 * request is written anew by edits, where what cannot be said can still be refused, and the answer
 * by a walk.
 */

export const membersOf = (body: ScannedBody): JsonRecord =>
  recordOr(parseJson(body.bytes.toString('utf8')))

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
  request: UpstreamRequest,
  name: string,
): { value: unknown; sent: JsonRecord } {
  const { [name]: value, ...sent } = recordIn(request)
  return { value, sent }
}
