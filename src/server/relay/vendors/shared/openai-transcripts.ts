import { PLAIN_TEXT } from '../../audio/recording-members.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import { textOr, type JsonRecord } from '../../json/json-value.ts'
import { jsonAnswer } from '../../transport/json-steps.ts'
import { membersOf } from './rewritten-body.ts'

/** Transcripts as OpenAI's clients ask for them, at upstreams that have words of their own. */

/** The member that says what the text is wanted as: for the walk, and not sent. */
export const FORMAT = 'response_format'
/** Members that change nothing about the text. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['model', 'stream'])
/** What asks for what is done anyhow; a form has no other word for nothing than an empty one. */
const AS_USUAL: ReadonlySet<unknown> = new Set(['', 'auto', null])
const NO_HEAT: ReadonlySet<unknown> = new Set(['', '0', '0.0', 0, null, undefined])

/** The members of a body that asks for one of these formats; others are refused. */
export function askedTranscript(body: ScannedBody, formats: ReadonlySet<unknown>): JsonRecord {
  const asked = membersOf(body)
  if (!formats.has(textOr(asked[FORMAT]) || 'json')) throw unsupportedField(FORMAT)
  return asked
}

/** Throws where one of these members, which the upstream has no word for, changes the text. */
export function refuseUnsaid(members: JsonRecord): void {
  for (const [name, value] of Object.entries(members)) {
    if (name === FORMAT || LEFT_BEHIND.has(name) || AS_USUAL.has(value)) continue
    throw unsupportedField(name)
  }
}

/** For upstreams that know no `temperature`. */
export function refuseHeat(temperature: unknown): void {
  if (!NO_HEAT.has(temperature)) throw unsupportedField('temperature')
}

/** A text with its line's end as a page of its own. `used`: the members that tell the usage. */
export const plainTranscript = (
  text: string,
  used: JsonRecord,
  kind: 'plain' | 'vtt' = 'plain',
) => ({
  ...jsonAnswer({ [PLAIN_TEXT]: text, ...used }),
  headers: { 'content-type': `text/${kind}; charset=utf-8` },
})
