import { editedBody, type Sent, type Provider } from '../../protocols/dialect/provider.ts'
import { interleavedOf } from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import {
  REASONING,
  withReasoningBack,
} from '../../protocols/openai-chat/thinking/reasoning-back.ts'

/**
 * Adds the reasoning of earlier turns that the model requires. For a model with Anthropic's dialect
 * that still misses some, reasoning is turned off instead, since signed reasoning cannot be
 * replaced by a placeholder.
 */
export function withReasoning(
  { dialect, refusesReasoning }: Provider,
  { channel, to }: Sent,
  bytes: Buffer,
): Buffer {
  const { task, isReasoningMissing = false } = to
  if (task !== 'chat' || refusesReasoning === true) return bytes
  if (dialect === 'anthropic' && isReasoningMissing) {
    return editedBody(bytes, () => [{ set: 'thinking', json: '{"type":"disabled"}' }])
  }
  const { field = REASONING, placeholder = null } =
    interleavedOf(capabilitiesOf({ ...to, type: channel.type })) ?? {}
  const least = isReasoningMissing ? placeholder || '.' : placeholder
  if (dialect !== 'openai' || least === null) return bytes
  const wanted = { field, placeholder: least, isDemanded: isReasoningMissing }
  return editedBody(bytes, (body) => withReasoningBack(body, wanted))
}
