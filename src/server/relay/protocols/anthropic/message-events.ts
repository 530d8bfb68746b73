import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'

/** Returns a whole message as stream events, without the final `message_stop`. */
export function messageAsEvents(message: JsonRecord): JsonRecord[] {
  const { content, stop_reason, stop_sequence, ...head } = message
  const open = { ...head, content: [], stop_reason: null, stop_sequence: null }
  return [
    { type: 'message_start', message: open },
    ...arrayOr(content).flatMap((block, index) => blockAsEvents(recordOr(block), index)),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: message.usage },
  ]
}

/**
 * Returns the events of a `message_start` that already has content, as Anthropic sends it for
 * programmatic tool calling (vercel/ai, `anthropic-programmatic-tool-calling.1.chunks.txt`); any
 * other event unchanged. A later `message_delta` replaces the stop reason among them.
 */
export function unfoldedStart(event: JsonRecord): JsonRecord[] {
  if (event.type !== 'message_start') return [event]
  const message = recordOr(event.message)
  if (typeof message.stop_reason === 'string') return messageAsEvents(message)
  return arrayOr(message.content).length === 0 ? [event] : messageAsEvents(message).slice(0, -1)
}

export function blockAsEvents(block: JsonRecord, index: number): JsonRecord[] {
  const { empty, deltas } = deltasOf(block)
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/**
 * Splits a block into its empty start and the deltas that fill it. Blocks of an unknown type stay
 * whole.
 */
function deltasOf(block: JsonRecord): { empty: JsonRecord; deltas: JsonRecord[] } {
  switch (block.type) {
    case 'text':
      return { empty: { text: '' }, deltas: [{ type: 'text_delta', text: block.text }] }
    case 'thinking':
      return {
        empty: { thinking: '', signature: '' },
        deltas: [
          { type: 'thinking_delta', thinking: block.thinking },
          { type: 'signature_delta', signature: block.signature },
        ],
      }
    case 'tool_use':
      return {
        empty: { input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
      }
    default:
      return { empty: {}, deltas: [] }
  }
}
