import { hasFeature } from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { messageEdits, systemRole } from '../../protocols/openai-chat/message-edits.ts'

/**
 * Edits for Alibaba's models in OpenAI's dialect, for every channel type with them. Source: Alibaba
 * Cloud Model Studio, "OpenAI compatible - Chat", `top_p`, `enable_thinking`.
 */

/**
 * Requests a stream for a call without streaming: some models answer, and most reason, only in
 * streams. The relay joins the stream. Source: Alibaba Cloud Model Studio, "OpenAI compatible -
 * Chat", "Deep thinking", "Omni".
 */
const STREAM_EDITS: readonly MemberEdit[] = [
  { set: 'stream', json: 'true' },
  { set: 'include_usage', inside: 'stream_options', json: 'true' },
]

/** Alibaba rejects 1 itself. */
const TOP_P_MAX = 0.9999
export function bailianEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  const { task, isStream } = call
  if (task !== 'chat') return []
  const model = capabilitiesOf(call)
  const topP = memberValue(body, 'top_p')
  const thinks = memberValue(body, 'enable_thinking') ?? null
  // Such a model reasons by default, but accepts reasoning only in a stream.
  const mustNotThink = !isStream && thinks === null && hasFeature(model, 'reasons_in_streams_only')
  return [
    ...(typeof topP === 'number' && topP >= 1 ? [{ set: 'top_p', json: String(TOP_P_MAX) }] : []),
    ...(mustNotThink ? [{ set: 'enable_thinking', json: 'false' }] : []),
    ...(!isStream && (hasFeature(model, 'stream_only') || thinks === true) ? STREAM_EDITS : []),
    // Other roles are rejected: "not one of ['system', 'assistant', …]"
    // (OpenCoworkAI/open-codesign#183).
    ...messageEdits(body, systemRole(body)),
  ]
}
