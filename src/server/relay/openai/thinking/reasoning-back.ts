import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, recordOr, textOr } from '../../json/json-value.ts'
import { messageEdits } from '../message-edits.ts'

const REASONING = 'reasoning_content'

/**
 * Gives every turn of the assistant a reasoning, once a tool was called in a conversation whose
 * model thinks: that of another member, or `least`. `isDemanded`: the upstream has refused the body
 * without. Sources: `models/reasoning-back.ts`.
 */
export function withReasoningBack(
  body: ScannedBody,
  least: string,
  isDemanded: boolean,
): MemberEdit[] {
  const isWanted = body.bytes.includes('"tool_calls"') && !isThinkingOff(body)
  if (!isDemanded && !isWanted) return []
  return messageEdits(body, [
    (message) => {
      const isKept = arrayOr(message.reasoning_details).length > 0
      const reasoning = textOr(message[REASONING]) || textOr(message.reasoning) || least
      return message.role !== 'assistant' || isKept || message[REASONING] === reasoning
        ? message
        : { ...message, [REASONING]: reasoning }
    },
  ])
}

/** However the vendor, or its host, spells it. */
const isThinkingOff = (body: ScannedBody): boolean =>
  recordOr(memberValue(body, 'thinking')).type === 'disabled' ||
  memberValue(body, 'enable_thinking') === false ||
  memberValue(body, 'reasoning_effort') === 'none' ||
  recordOr(memberValue(body, 'reasoning')).enabled === false
