import type { ProviderCall, ProviderChannel } from '../../dialect/provider.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { messageEdits, systemRole } from '../../openai/message-edits.ts'
import { gatherStream, streamEdits, streamsOnly } from './stream-only.ts'

/**
 * What Alibaba's models want otherwise of a chat in OpenAI's dialect, whichever type of channel
 * reaches them. Source: Alibaba Cloud Model Studio, "OpenAI compatible - Chat", `top_p`,
 * `enable_thinking`.
 */

/** One itself is refused. */
const TOP_P_MAX = 0.9999
/** Open models that think unless told otherwise, which they may only in a stream. */
const OPEN_QWEN3 = /^qwen3-\d+(?:\.\d+)?b(?:-a\d+b)?$/

export function bailianEdits(
  body: ScannedBody,
  { task, model, isStream }: ProviderCall,
): MemberEdit[] {
  if (task !== 'chat') return []
  const topP = memberValue(body, 'top_p')
  const thinks = memberValue(body, 'enable_thinking') ?? null
  const mustNotThink = !isStream && thinks === null && OPEN_QWEN3.test(model)
  return [
    ...(typeof topP === 'number' && topP >= 1 ? [{ set: 'top_p', json: String(TOP_P_MAX) }] : []),
    ...(mustNotThink ? [{ set: 'enable_thinking', json: 'false' }] : []),
    ...(!isStream && (streamsOnly(model) || thinks === true) ? streamEdits : []),
    // Another is "not one of ['system', 'assistant', …]" (OpenCoworkAI/open-codesign#183).
    ...messageEdits(body, systemRole(body)),
  ]
}

/** Most models think in a stream only; which of these a request is, its body says. */
export function bailianVia(
  _channel: ProviderChannel,
  { task, isStream }: ProviderCall,
): Via | null {
  return task === 'chat' && !isStream ? inSteps(gatherStream) : null
}
