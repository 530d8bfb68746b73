import type {
  AnswerChoice,
  AnswerPart,
  ChatAnswer,
  ChatEvent,
  FinishReason,
} from '../canonical/chat-answer.ts'
import { dataUrl } from '../canonical/media.ts'
import { wrapSignature } from '../canonical/signature.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerHead, StreamHead, StreamPiece, StreamWriter } from '../dialect/dialect.ts'
import type { Signature } from '../canonical/chat-request.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { chatAnnotation } from './citations.ts'
import { hiddenDetail, sealedDetail } from './thinking/reasoning.ts'
import { writeCompletionDetails, writePromptDetails } from './usage.ts'

/** Writes a chat completion, whole or streamed, for clients of OpenAI's dialect. */
export function writeOpenaiAnswer(answer: ChatAnswer, head: AnswerHead): JsonRecord {
  return {
    ...headOf(answer.id, head, 'chat.completion'),
    choices: answer.choices.map(writeChoice),
    ...(answer.usage === null ? {} : { usage: writeOpenaiUsage(answer.usage) }),
  }
}

const headOf = (id: string, head: AnswerHead, object: string): JsonRecord => ({
  id: id === '' ? head.id : id,
  object,
  created: head.nowSeconds,
  model: head.model,
})

function writeOpenaiUsage(usage: TokenUsage): JsonRecord {
  const { promptTokens, completionTokens } = usage
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: writePromptDetails(usage),
    completion_tokens_details: writeCompletionDetails(usage),
  }
}

const FINISHES: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  toolCalls: 'tool_calls',
  filtered: 'content_filter',
}

function writeChoice({ parts, finish }: AnswerChoice, index: number): JsonRecord {
  const text = contentOf(parts)
  const calls = parts.filter((part) => part.kind === 'toolCall')
  const refusal = joined(parts, 'refusal')
  const message: JsonRecord = {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    ...(refusal === '' ? {} : { refusal }),
    ...annotationsOf(parts, text.length),
    ...thoughtsOf(parts),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((call) => writeCall(call, call.argumentsJson)) }),
  }
  return { index, message, logprobs: null, finish_reason: FINISHES[finish.reason] }
}

/** Citations of the answer; the dialect has no member for the searches themselves. */
function annotationsOf(parts: readonly AnswerPart[], length: number): JsonRecord {
  const annotations = parts.flatMap((part) =>
    part.kind === 'citation' ? [chatAnnotation(part.citation, length)] : [],
  )
  return annotations.length === 0 ? {} : { annotations }
}

const joined = (parts: readonly AnswerPart[], kind: 'refusal' | 'thinking'): string =>
  parts.map((part) => (part.kind === kind ? part.text : '')).join('')

/** An image as Markdown: the dialect has no member for images in answers. */
const imageText = (picture: { mimeType: string; data: string }): string =>
  `![image](${dataUrl(picture)})`

const contentOf = (parts: readonly AnswerPart[]): string =>
  parts
    .map((part) => {
      if (part.kind === 'text') return part.text
      return part.kind === 'image' ? imageText(part) : ''
    })
    .join('')

function thoughtsOf(parts: readonly AnswerPart[]): JsonRecord {
  const text = joined(parts, 'thinking')
  const details: JsonRecord[] = []
  for (const part of parts) {
    if (part.kind !== 'thinking') continue
    if (part.signature !== null) {
      details.push(sealedDetail(part.text, part.signature, details.length))
    }
    if (part.redacted !== null) details.push(hiddenDetail(part.redacted, details.length))
  }
  return {
    ...(text === '' ? {} : { reasoning_content: text }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  }
}

export function writeCall(
  call: { id: string; name: string; signature: Signature | null },
  argumentsJson: string,
): JsonRecord {
  const { id, name, signature } = call
  return {
    id,
    type: 'function',
    function: { name, arguments: argumentsJson },
    // Signatures are in a member of Gemini's own OpenAI-compatible API.
    ...(signature === null
      ? {}
      : { extra_content: { google: { thought_signature: wrapSignature(signature, 'gemini') } } }),
  }
}

export class OpenaiStreamWriter implements StreamWriter {
  private readonly head: StreamHead
  private id = ''
  private readonly choices = new Set<number>()
  /** Reasoning since the last signature, by choice: a signature is sent with its text. */
  private readonly thoughts = new Map<number, string>()
  private details = 0

  constructor(head: StreamHead) {
    this.head = head
  }

  write(event: ChatEvent): StreamPiece[] {
    switch (event.kind) {
      case 'start':
        this.id = event.id
        return []
      case 'text':
        return this.delta(event.choice, { content: event.text })
      case 'image':
        return this.delta(event.choice, { content: imageText(event) })
      case 'search':
        return []
      case 'citation': {
        const annotations = [chatAnnotation(event.citation, Infinity)]
        return this.delta(event.choice, { annotations })
      }
      case 'refusal':
        return this.delta(event.choice, { refusal: event.text })
      case 'thinking':
        this.thoughts.set(event.choice, (this.thoughts.get(event.choice) ?? '') + event.text)
        return this.delta(event.choice, { reasoning_content: event.text })
      case 'signature': {
        const text = this.thoughts.get(event.choice) ?? ''
        this.thoughts.delete(event.choice)
        return this.detail(event.choice, sealedDetail(text, event.signature, this.details))
      }
      case 'redacted':
        return this.detail(event.choice, hiddenDetail(event.redacted, this.details))
      case 'toolCall':
        return this.delta(event.choice, {
          tool_calls: [{ index: event.call, ...writeCall(event, '') }],
        })
      case 'toolArguments':
        return this.delta(event.choice, {
          tool_calls: [{ index: event.call, function: { arguments: event.text } }],
        })
      case 'finish':
        return [
          ...this.opening(event.choice, ''),
          ...this.chunk(event.choice, {}, FINISHES[event.finish.reason]),
        ]
      case 'hostedTool':
      case 'ping':
        return []
      default:
        return event satisfies never
    }
  }

  end(usage: TokenUsage): StreamPiece[] {
    const head = headOf(this.id, this.head, 'chat.completion.chunk')
    const last = { ...head, choices: [], usage: writeOpenaiUsage(usage) }
    return [...(this.head.wantsUsage ? [{ data: JSON.stringify(last) }] : []), { data: '[DONE]' }]
  }

  private detail(choice: number, detail: JsonRecord): StreamPiece[] {
    this.details += 1
    return this.delta(choice, { reasoning_details: [detail] })
  }

  /** First chunk of a choice, with the role; `content` is null unless text follows immediately. */
  private opening(choice: number, content: '' | null): StreamPiece[] {
    if (this.choices.has(choice)) return []
    this.choices.add(choice)
    return this.chunk(choice, { role: 'assistant', content }, null)
  }

  private delta(choice: number, delta: JsonRecord): StreamPiece[] {
    const content = 'content' in delta || 'refusal' in delta ? '' : null
    return [...this.opening(choice, content), ...this.chunk(choice, delta, null)]
  }

  private chunk(index: number, delta: JsonRecord, finish: string | null): StreamPiece[] {
    const head = headOf(this.id, this.head, 'chat.completion.chunk')
    const choices = [{ index, delta, logprobs: null, finish_reason: finish }]
    return [{ data: JSON.stringify({ ...head, choices }) }]
  }
}
