import type { UpstreamTraits } from '../../dialect/traits.ts'
import { memberRange, memberToWrite, type ScannedBody } from '../../../json/body-scan.ts'
import type { MemberEdit } from '../../../json/body-splice.ts'
import { arrayOr, isRecord } from '../../../json/json-value.ts'

/**
 * Members that Codex adds for its own account's server, and sends to every server with that
 * provider name. Others reject them, Azure among them; they do not change the answer. Sources:
 * requests of Codex 0.159, Wei-Shaw/sub2api#7066, sozercan/vekil#228 and lidge-jun/opencodex#4853.
 */
export const OF_CODEX = {
  member: 'access_programs',
  memberOfItems: 'internal_chat_message_metadata_passthrough',
} as const

const SIGN = Buffer.from(`"${OF_CODEX.memberOfItems}"`)

/** Removes them from a request unless the upstream takes them; everything else stays. */
export function withoutNotes(body: ScannedBody, traits: UpstreamTraits): MemberEdit[] {
  if (traits.takesCodexNotes === true) return []
  const isNoted = memberRange(body, OF_CODEX.member) !== null
  return [...(isNoted ? [{ remove: OF_CODEX.member }] : []), ...itemEdits(body)]
}

function itemEdits(body: ScannedBody): MemberEdit[] {
  if (!body.bytes.includes(SIGN)) return []
  const items = arrayOr(memberToWrite(body, 'input'))
  const plain = items.map((item) => {
    if (!isRecord(item)) return item
    const { [OF_CODEX.memberOfItems]: note, ...rest } = item
    return note === undefined ? item : rest
  })
  const isSame = plain.every((item, index) => item === items[index])
  return isSame ? [] : [{ set: 'input', json: JSON.stringify(plain) }]
}
