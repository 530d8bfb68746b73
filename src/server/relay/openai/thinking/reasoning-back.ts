import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, recordOr, textOr } from '../../json/json-value.ts'
import { messageEdits } from '../message-edits.ts'

/** The usual name of the member. */
export const REASONING = 'reasoning_content'

interface WantedReasoning {
  /** The member of a message that holds it. */
  field: string
  /** What it holds in a turn without reasoning. */
  placeholder: string
  /** The upstream has refused the body without. */
  isDemanded: boolean
}

/**
 * Gives every turn of the assistant a reasoning, once a tool was called in a conversation whose
 * model thinks: that of another member, or the placeholder. Sources:
 * `src/server/model/overrides.json`.
 */
export function withReasoningBack(
  body: ScannedBody,
  { field, placeholder, isDemanded }: WantedReasoning,
): MemberEdit[] {
  const isWanted = body.bytes.includes('"tool_calls"') && !isThinkingOff(body)
  if (!isDemanded && !isWanted) return []
  return messageEdits(body, [
    (message) => {
      const isKept = arrayOr(message.reasoning_details).length > 0
      const sent = textOr(message[field]) || textOr(message[REASONING]) || textOr(message.reasoning)
      const reasoning = sent || placeholder
      return message.role !== 'assistant' || isKept || message[field] === reasoning
        ? message
        : { ...message, [field]: reasoning }
    },
  ])
}

/** However the vendor, or its host, spells it. */
const isThinkingOff = (body: ScannedBody): boolean =>
  recordOr(memberValue(body, 'thinking')).type === 'disabled' ||
  memberValue(body, 'enable_thinking') === false ||
  memberValue(body, 'reasoning_effort') === 'none' ||
  recordOr(memberValue(body, 'reasoning')).enabled === false
