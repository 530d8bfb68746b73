import type { ProviderCall, ProviderChannel } from '../../dialect/provider.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { gather, streamEdits, streamsOnly } from './stream-only.ts'

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
  const saysNothing = (memberValue(body, 'enable_thinking') ?? null) === null
  const mustNotThink = !isStream && saysNothing && OPEN_QWEN3.test(model)
  return [
    ...(typeof topP === 'number' && topP >= 1 ? [{ set: 'top_p', json: String(TOP_P_MAX) }] : []),
    ...(mustNotThink ? [{ set: 'enable_thinking', json: 'false' }] : []),
    ...(!isStream && streamsOnly(model) ? streamEdits : []),
  ]
}

export function bailianVia(
  _channel: ProviderChannel,
  { task, model, isStream }: ProviderCall,
): Via | null {
  return task === 'chat' && !isStream && streamsOnly(model) ? inSteps(gather) : null
}
