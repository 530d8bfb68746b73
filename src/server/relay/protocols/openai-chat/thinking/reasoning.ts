import type { DialectName, Signature, ThinkingPart } from '../../canonical/chat-request.ts'
import type { Members } from '../../canonical/reading.ts'
import { unwrapSignature, wrapSignature } from '../../canonical/signature.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../../json/json-value.ts'

/**
 * Reasoning in OpenAI's dialect, which has no member for it: the text is in `reasoning_content`, as
 * DeepSeek and most others send it; what a provider requires back is in `reasoning_details`, as at
 * OpenRouter (its documentation, "Preserving reasoning blocks"): `reasoning.text` with a signature,
 * `reasoning.encrypted` for hidden reasoning.
 */

/** OpenRouter's names for the maker of a signature. */
const FORMATS = {
  anthropic: 'anthropic-claude-v1',
  gemini: 'google-gemini-v1',
  openai: 'openai-responses-v1',
} as const

const MAKERS = new Map<string, DialectName>([
  [FORMATS.anthropic, 'anthropic'],
  [FORMATS.gemini, 'gemini'],
  [FORMATS.openai, 'openai'],
])

/**
 * Null if the gateway has no dialect of that maker. Without a format it is Anthropic's, which was
 * first.
 */
export const makerOf = (format: string | null): DialectName | null =>
  format === null ? 'anthropic' : (MAKERS.get(format) ?? null)

/** Reads the thoughts of an assistant message, and the signatures of its calls by call id. */
export function readReasoning(message: Members): {
  thinking: ThinkingPart[]
  signatures: ReadonlyMap<string, string>
} {
  const plain = message.text('reasoning_content') ?? message.text('reasoning')
  message.ignore('reasoning')
  const thinking: ThinkingPart[] = []
  const signatures = new Map<string, string>()
  for (const detail of message.objects('reasoning_details')) {
    const format = detail.text('format')
    const id = detail.text('id')
    const text = detail.text('text') ?? detail.text('summary') ?? ''
    const sealed = detail.text('signature')
    const data = detail.text('data')
    const maker = makerOf(format)
    if (data !== null && id !== null && maker === 'gemini') {
      signatures.set(id, data)
    } else {
      const signature = sealed === null || maker === null ? null : unwrapSignature(sealed, maker)
      const redacted = maker === 'anthropic' ? data : null
      thinking.push({ kind: 'thinking', text, signature, redacted })
    }
    detail.ignore('type', 'index')
    detail.done()
  }
  if (thinking.length === 0 && plain !== null && plain !== '') {
    thinking.push({ kind: 'thinking', text: plain, signature: null, redacted: null })
  }
  return { thinking, signatures }
}

export const sealedDetail = (text: string, signature: Signature, index: number): JsonRecord => ({
  type: 'reasoning.text',
  text,
  signature: wrapSignature(signature, signature.by),
  format: FORMATS[signature.by],
  index,
})

export const hiddenDetail = (data: string, index: number): JsonRecord => ({
  type: 'reasoning.encrypted',
  data,
  format: FORMATS.anthropic,
  index,
})

/** Gemini's signature of a call, in OpenRouter's format. */
export const callDetail = (id: string, data: string, index: number): JsonRecord => ({
  type: 'reasoning.encrypted',
  id,
  data,
  format: FORMATS.gemini,
  index,
})

/** MiniMax's format of reasoning that is separate from the answer. */
const MINIMAX_FORMAT = 'MiniMax-response-v1'

/**
 * Reasoning in the format that MiniMax requires back to continue after a call. Source: MiniMax,
 * "Tool Use & Interleaved Thinking".
 */
export const minimaxDetail = (text: string): JsonRecord => ({
  type: 'reasoning.text',
  id: 'reasoning-text-1',
  format: MINIMAX_FORMAT,
  index: 0,
  text,
})

/** Whether a message or a delta has MiniMax's reasoning. */
export const isOfMinimax = (message: JsonRecord): boolean =>
  arrayOr(message.reasoning_details).some((detail) => recordOr(detail).format === MINIMAX_FORMAT)
