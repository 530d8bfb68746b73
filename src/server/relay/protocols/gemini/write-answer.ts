import type {
  AnswerPart,
  ChatAnswer,
  ChatEvent,
  Finish,
  FinishReason,
} from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { sealOfHidden, wrapSignature } from '../canonical/signature.ts'
import type { Citation, RunSearch } from '../canonical/web-search.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerHead, StreamHead, StreamPiece, StreamWriter } from '../dialect/dialect.ts'
import { isRecord, parseJson, type JsonRecord } from '../../json/json-value.ts'
import { writeGrounding } from './grounding.ts'
import { writeGeminiUsage } from './usage.ts'

/** Writes a GenerateContentResponse, whole or streamed, for clients of Gemini's dialect. */
export function writeGeminiAnswer(answer: ChatAnswer, head: AnswerHead): JsonRecord {
  return {
    candidates: answer.choices.map(({ parts, finish }, index) => ({
      content: { role: 'model', parts: parts.flatMap(writePart) },
      finishReason: FINISHES[finish.reason],
      index,
      ...groundingOf(parts),
    })),
    ...(answer.usage === null ? {} : { usageMetadata: writeGeminiUsage(answer.usage) }),
    ...tailOf(answer.id, head),
  }
}

function groundingOf(parts: readonly AnswerPart[]): JsonRecord {
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  const searches = parts.flatMap((part) => (part.kind === 'search' ? [part.search] : []))
  const citations = parts.flatMap((part) => (part.kind === 'citation' ? [part.citation] : []))
  return writeGrounding(text, searches, citations)
}

const tailOf = (id: string, head: AnswerHead): JsonRecord => ({
  modelVersion: head.model,
  responseId: id === '' ? head.id : id,
})

/** Finish reasons; tool calls end with a normal `STOP` in this dialect. */
const FINISHES: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  toolCalls: 'STOP',
  filtered: 'SAFETY',
}

const sealed = (signature: Signature | null): JsonRecord =>
  signature === null ? {} : { thoughtSignature: wrapSignature(signature, 'gemini') }

function writePart(part: AnswerPart): JsonRecord[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return [{ text: part.text }]
    case 'image':
      return [{ inlineData: { mimeType: part.mimeType, data: part.data } }]
    case 'thinking':
      return part.redacted === null
        ? [{ text: part.text, thought: true, ...sealed(part.signature) }]
        : [{ text: '', thought: true, thoughtSignature: sealOfHidden(part.redacted, 'gemini') }]
    case 'toolCall':
      return [callPart(part, part.argumentsJson)]
    case 'search':
    case 'citation':
      return []
    default:
      return part satisfies never
  }
}

function callPart(
  { id, name, signature }: { id: string; name: string; signature: Signature | null },
  argumentsJson: string,
): JsonRecord {
  const args = parseJson(argumentsJson)
  const functionCall = { id, name, args: isRecord(args) ? args : {} }
  return { functionCall, ...sealed(signature) }
}

function addTo<Item>(lists: Map<number, Item[]>, choice: number, item: Item): void {
  const list = lists.get(choice)
  if (list === undefined) lists.set(choice, [item])
  else list.push(item)
}

interface OpenCall {
  id: string
  name: string
  signature: Signature | null
  text: string
}

/**
 * Writes a stream. Calls are written whole, at the end of the answer: this dialect does not send
 * them in pieces.
 */
export class GeminiStreamWriter implements StreamWriter {
  private readonly head: StreamHead
  private id = ''
  private readonly calls = new Map<number, Map<number, OpenCall>>()
  private readonly finishes = new Map<number, Finish>()
  /** Metadata for the end of each choice, and the text that its positions refer to. */
  private readonly texts = new Map<number, string>()
  private readonly searches = new Map<number, RunSearch[]>()
  private readonly citations = new Map<number, Citation[]>()

  constructor(head: StreamHead) {
    this.head = head
  }

  write(event: ChatEvent): StreamPiece[] {
    switch (event.kind) {
      case 'start':
        this.id = event.id
        return []
      case 'text':
        this.texts.set(event.choice, (this.texts.get(event.choice) ?? '') + event.text)
        return this.part(event.choice, { text: event.text })
      case 'search':
        addTo(this.searches, event.choice, event.search)
        return []
      case 'citation':
        addTo(this.citations, event.choice, event.citation)
        return []
      case 'refusal':
        return this.part(event.choice, { text: event.text })
      case 'thinking':
        return this.part(event.choice, { text: event.text, thought: true })
      case 'signature':
        return this.part(event.choice, { text: '', thought: true, ...sealed(event.signature) })
      case 'redacted': {
        const thoughtSignature = sealOfHidden(event.redacted, 'gemini')
        return this.part(event.choice, { text: '', thought: true, thoughtSignature })
      }
      case 'image': {
        const { mimeType, data } = event
        return this.part(event.choice, { inlineData: { mimeType, data } })
      }
      case 'toolCall': {
        const { id, name, signature } = event
        this.callsOf(event.choice).set(event.call, { id, name, signature, text: '' })
        return []
      }
      case 'toolArguments': {
        const call = this.callsOf(event.choice).get(event.call)
        if (call !== undefined) call.text += event.text
        return []
      }
      case 'finish':
        this.finishes.set(event.choice, event.finish)
        return []
      case 'hostedTool':
      case 'ping':
        return []
      default:
        return event satisfies never
    }
  }

  /** Writes the calls, then each choice's end with the total usage. */
  end(usage: TokenUsage): StreamPiece[] {
    const calls = [...this.calls].flatMap(([choice, ofChoice]) =>
      [...ofChoice]
        .toSorted(([a], [b]) => a - b)
        .flatMap(([, call]) => this.part(choice, callPart(call, call.text))),
    )
    const candidates = [...this.finishes].map(([index, { reason }]) => ({
      content: { role: 'model', parts: [{ text: '' }] },
      finishReason: FINISHES[reason],
      index,
      ...writeGrounding(
        this.texts.get(index) ?? '',
        this.searches.get(index) ?? [],
        this.citations.get(index) ?? [],
      ),
    }))
    const last = { candidates, usageMetadata: writeGeminiUsage(usage) }
    return [...calls, this.piece(last)]
  }

  private callsOf(choice: number): Map<number, OpenCall> {
    let calls = this.calls.get(choice)
    if (calls === undefined) this.calls.set(choice, (calls = new Map<number, OpenCall>()))
    return calls
  }

  private part(index: number, part: JsonRecord): StreamPiece[] {
    return [this.piece({ candidates: [{ content: { role: 'model', parts: [part] }, index }] })]
  }

  private piece(members: JsonRecord): StreamPiece {
    return { data: JSON.stringify({ ...members, ...tailOf(this.id, this.head) }) }
  }
}
