import { editedBody, type Sent, type Provider } from '../../protocols/dialect/provider.ts'
import { interleavedOf } from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import {
  REASONING,
  withReasoningBack,
} from '../../protocols/openai-chat/thinking/reasoning-back.ts'

/**
 * With the reasoning that the model wants back of each turn. A model of Anthropic's dialect that
 * still misses some does not think: what it has thought cannot be made up there.
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
