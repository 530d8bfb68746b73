import { memberValue, type ScannedBody } from '../../../json/body-scan.ts'
import type { MemberEdit } from '../../../json/body-splice.ts'
import { arrayOr, recordOr, textOr } from '../../../json/json-value.ts'
import { messageEdits } from '../message-edits.ts'

/** The usual member with reasoning. */
export const REASONING = 'reasoning_content'

interface WantedReasoning {
  /** Member of a message with the reasoning. */
  field: string
  /** Value for a turn without reasoning. */
  placeholder: string
  /** The upstream has rejected the body without it. */
  isDemanded: boolean
}

/**
 * Adds reasoning to every assistant turn, once a tool was called in a conversation with a reasoning
 * model: from another member, or the placeholder. Sources: `src/server/model/overrides.json`.
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

/** Whether reasoning is turned off, in any vendor's or host's spelling. */
const isThinkingOff = (body: ScannedBody): boolean =>
  recordOr(memberValue(body, 'thinking')).type === 'disabled' ||
  memberValue(body, 'enable_thinking') === false ||
  memberValue(body, 'reasoning_effort') === 'none' ||
  recordOr(memberValue(body, 'reasoning')).enabled === false
