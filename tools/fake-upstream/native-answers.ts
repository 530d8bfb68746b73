import { jsonAnswer, type Answer, type StreamEvent } from './answer.ts'
import { isStreamed } from './chat-answers.ts'
import type { Call, Json } from './call.ts'
import { chatRecorded, produceText } from './produced-text.ts'

const PROMPT_TOKENS = 11
const anthropicRecorded = { pieces: ['The answer ', 'is forty-two.'], completionTokens: 7 }

/** `POST …/messages`: the Anthropic dialect, whose cached tokens stand beside the input tokens. */
export function anthropicAnswer(call: Call): Answer {
  const produced = produceText(call, anthropicRecorded)
  const { cachedTokens, promptTokens } = call.directives
  const input = {
    input_tokens: promptTokens ?? PROMPT_TOKENS,
    ...(cachedTokens > 0 ? { cache_read_input_tokens: cachedTokens } : {}),
  }
  const message = (content: Json[], stopReason: string | null, outputTokens: number) => ({
    id: 'msg_fixed',
    type: 'message',
    role: 'assistant',
    model: call.model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: { ...input, output_tokens: outputTokens },
  })
  const stopReason = produced.finishReason === 'length' ? 'max_tokens' : 'end_turn'
  if (!isStreamed(call)) {
    const content = [{ type: 'text', text: produced.pieces.join('') }]
    return jsonAnswer(message(content, stopReason, produced.completionTokens))
  }
  const delta = { stop_reason: stopReason, stop_sequence: null }
  return {
    kind: 'stream',
    events: [
      named('message_start', { message: message([], null, 1) }),
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...produced.pieces.map((text) =>
        named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      ),
      named('content_block_stop', { index: 0 }),
      named('message_delta', { delta, usage: { output_tokens: produced.completionTokens } }),
      named('message_stop', {}),
    ],
  }
}

function named(name: string, members: Json): StreamEvent {
  return { name, data: JSON.stringify({ type: name, ...members }) }
}

/** `POST …:generateContent` and `…:streamGenerateContent`: the Gemini dialect. */
export function geminiAnswer(call: Call): Answer {
  const { pieces, completionTokens, finishReason } = produceText(call, {
    ...chatRecorded,
    pieces: [chatRecorded.pieces.join('')],
  })
  const { cachedTokens, promptTokens } = call.directives
  const prompt = promptTokens ?? PROMPT_TOKENS + cachedTokens
  const usageMetadata = {
    promptTokenCount: prompt,
    candidatesTokenCount: completionTokens,
    totalTokenCount: prompt + completionTokens,
    ...(cachedTokens > 0 ? { cachedContentTokenCount: cachedTokens } : {}),
  }
  const last = { finishReason: finishReason === 'length' ? 'MAX_TOKENS' : 'STOP' }
  const part = (text: string, end: Json) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, ...end, index: 0 }],
    usageMetadata,
  })
  if (!/stream/i.test(call.path)) return jsonAnswer(part(pieces.join(''), last))
  const events = pieces.map((text, index) => ({
    data: JSON.stringify(part(text, index === pieces.length - 1 ? last : {})),
  }))
  return { kind: 'stream', events }
}
