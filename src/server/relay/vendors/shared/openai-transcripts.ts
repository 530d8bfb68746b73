import { PLAIN_TEXT } from '../../audio/recording-members.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import { textOr, type JsonRecord } from '../../json/json-value.ts'
import { jsonAnswer } from '../../transport/json-steps.ts'
import { membersOf } from './rewritten-body.ts'

/** Transcripts in OpenAI's format, for upstreams that have another format. */

/** Requested format of the text: the walk reads it and does not send it. */
export const FORMAT = 'response_format'
/** Members without an effect on the text. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['model', 'stream'])
/** Values that request the default behaviour; a form expresses "not set" as an empty text. */
const AS_USUAL: ReadonlySet<unknown> = new Set(['', 'auto', null])
const NO_HEAT: ReadonlySet<unknown> = new Set(['', '0', '0.0', 0, null, undefined])

/** Returns the members of a body if it requests one of these formats; throws otherwise. */
export function askedTranscript(body: ScannedBody, formats: ReadonlySet<unknown>): JsonRecord {
  const asked = membersOf(body)
  if (!formats.has(textOr(asked[FORMAT]) || 'json')) throw unsupportedField(FORMAT)
  return asked
}

/** Throws if a member that the upstream does not support would affect the text. */
export function refuseUnsaid(members: JsonRecord): void {
  for (const [name, value] of Object.entries(members)) {
    if (name === FORMAT || LEFT_BEHIND.has(name) || AS_USUAL.has(value)) continue
    throw unsupportedField(name)
  }
}

/** Rejects a `temperature`, for upstreams that do not have it. */
export function refuseHeat(temperature: unknown): void {
  if (!NO_HEAT.has(temperature)) throw unsupportedField('temperature')
}

/** Response with the text alone, which ends with a line feed. `used`: members with the usage. */
export const plainTranscript = (
  text: string,
  used: JsonRecord,
  kind: 'plain' | 'vtt' = 'plain',
) => ({
  ...jsonAnswer({ [PLAIN_TEXT]: text, ...used }),
  headers: { 'content-type': `text/${kind}; charset=utf-8` },
})
