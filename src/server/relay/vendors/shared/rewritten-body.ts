import { parseJson, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { recordIn } from '../../transport/json-steps.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'

/**
 * Conversion for providers with a dialect of OpenAI and a different format. Edits rewrite the
 * request, where unsupported members can still be rejected; a walk converts the response.
 */

export const membersOf = (body: ScannedBody): JsonRecord =>
  recordOr(parseJson(body.bytes.toString('utf8')))

/** Returns the edits that replace the first members by the second. */
export function rewritten(asked: JsonRecord, sent: JsonRecord): MemberEdit[] {
  const gone = Object.keys(asked).filter((name) => !Object.hasOwn(sent, name))
  return [
    ...gone.map((remove) => ({ remove })),
    ...Object.entries(sent).map(([set, value]) => ({ set, json: JSON.stringify(value) })),
  ]
}

/** Takes a member that only the walk needs out of a written request. */
export function takenOut(
  request: UpstreamRequest,
  name: string,
): { value: unknown; sent: JsonRecord } {
  const { [name]: value, ...sent } = recordIn(request)
  return { value, sent }
}
