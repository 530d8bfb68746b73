import type {
  AnswerChoice,
  AnswerPart,
  ChatAnswer,
  ChatEvent,
  Finish,
  FinishReason,
} from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { objectText } from '../canonical/arguments-text.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import type { StreamReader } from '../dialect/dialect.ts'
import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../json/json-value.ts'
import { joinedGrounding, readGrounding } from './grounding.ts'
import { readGeminiUsage } from './usage.ts'

/**
 * A GenerateContentResponse in the canonical form; each event of a stream is one. Source: Gemini
 * API reference, "GenerateContentResponse". Calls come whole, and without an id in older versions:
 * these get one in `dialect/tool-calls.ts`.
 */
export function readGeminiAnswer(answer: JsonRecord): ChatAnswer {
  const id = textOr(answer.responseId)
  const choices = arrayOr(answer.candidates).map((candidate) => readCandidate(recordOr(candidate)))
  return {
    id,
    choices: choices.length === 0 ? blockedChoices(answer) : choices,
    usage: readGeminiUsage(answer.usageMetadata, USAGE_TOKENS_MAX).usage,
  }
}

const FILTERED = { reason: 'filtered', stopSequence: null } as const

/** A prompt that was refused has no candidates, only the reason. */
function blockedChoices(answer: JsonRecord): AnswerChoice[] {
  const reason = textOr(recordOr(answer.promptFeedback).blockReason)
  return reason === '' ? [] : [{ parts: [], finish: FILTERED }]
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  MAX_TOKENS: 'length',
  SAFETY: 'filtered',
  RECITATION: 'filtered',
  LANGUAGE: 'filtered',
  BLOCKLIST: 'filtered',
  PROHIBITED_CONTENT: 'filtered',
  SPII: 'filtered',
  IMAGE_SAFETY: 'filtered',
  IMAGE_PROHIBITED_CONTENT: 'filtered',
  IMAGE_RECITATION: 'filtered',
  IMAGE_OTHER: 'filtered',
  NO_IMAGE: 'filtered',
}

function finishOf(word: unknown, hasCalls: boolean): Finish {
  const reason = FINISHES[textOr(word)] ?? 'stop'
  return { reason: reason === 'stop' && hasCalls ? 'toolCalls' : reason, stopSequence: null }
}

const partsOf = (candidate: JsonRecord): JsonRecord[] =>
  arrayOr(recordOr(candidate.content).parts).filter(isRecord)

function readCandidate(candidate: JsonRecord): AnswerChoice {
  const sent = partsOf(candidate)
  const parts = sent.flatMap(readPart)
  const hasCalls = parts.some((part) => part.kind === 'toolCall')
  const seal = sent.map(textSeal).findLast((found) => found !== null) ?? null
  const joined = parts.reduce<AnswerPart[]>(joinTexts, [])
  return {
    parts: withGrounding(hasCalls ? joined : withSeal(joined, seal), candidate),
    finish: finishOf(candidate.finishReason, hasCalls),
  }
}

/** With the search before the first text, and what the texts are based on behind the last. */
function withGrounding(parts: AnswerPart[], { groundingMetadata }: JsonRecord): AnswerPart[] {
  const isText = ({ kind }: AnswerPart): boolean => kind === 'text'
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  const { search, citations } = readGrounding(groundingMetadata, text)
  const [first, last] = [parts.findIndex(isText), parts.findLastIndex(isText) + 1]
  const at = first < 0 ? parts.length : first
  return [
    ...parts.slice(0, at),
    ...(search === null ? [] : [{ kind: 'search' as const, search }]),
    ...parts.slice(at, Math.max(at, last)),
    ...citations.map((citation) => ({ kind: 'citation' as const, citation })),
    ...parts.slice(Math.max(at, last)),
  ]
}

/** Seals the last thought: it is what the seal on the text behind it is about. */
function withSeal(parts: readonly AnswerPart[], signature: Signature | null): AnswerPart[] {
  const last = parts.findLastIndex((part) => part.kind === 'thinking')
  return parts.map((part, index) =>
    index === last && part.kind === 'thinking' && part.signature === null
      ? { ...part, signature }
      : part,
  )
}

/** Texts that follow each other are one. */
function joinTexts(parts: AnswerPart[], part: AnswerPart): AnswerPart[] {
  const last = parts.at(-1)
  if (part.kind === 'text' && last?.kind === 'text') {
    return [...parts.slice(0, -1), { kind: 'text', text: last.text + part.text }]
  }
  return [...parts, part]
}

const sealOf = (part: JsonRecord): Signature | null =>
  typeof part.thoughtSignature === 'string' && part.thoughtSignature !== ''
    ? { by: 'gemini', value: part.thoughtSignature }
    : null

/**
 * The seal of a text. Gemini asks for that of a call, and only likes to have this one: it is passed
 * on where the thought is shown that it belongs to, and no client gets a thought for its sake.
 */
const textSeal = (part: JsonRecord): Signature | null =>
  typeof part.text === 'string' && part.thought !== true ? sealOf(part) : null

function readPart(part: JsonRecord): AnswerPart[] {
  const signature = sealOf(part)
  if (isRecord(part.functionCall)) {
    const { id, name, args } = part.functionCall
    return [
      {
        kind: 'toolCall',
        id: textOr(id),
        name: textOr(name),
        argumentsJson: objectText(args),
        signature,
      },
    ]
  }
  if (isRecord(part.inlineData)) {
    // A sketch on the way to the picture: no dialect has a place for what was thought in pictures.
    if (part.thought === true) return []
    const { mimeType, data } = part.inlineData
    return [{ kind: 'image', mimeType: textOr(mimeType), data: textOr(data) }]
  }
  const text = textOr(part.text) + codeText(part)
  if (part.thought === true) return [{ kind: 'thinking', text, signature, redacted: null }]
  return text === '' ? [] : [{ kind: 'text', text }]
}

/** Code that Gemini has run, and what came of it, as text that shows it. */
function codeText({ executableCode, codeExecutionResult }: JsonRecord): string {
  const code = textOr(recordOr(executableCode).code)
  const output = textOr(recordOr(codeExecutionResult).output)
  return [code, output].map((text) => (text === '' ? '' : `\n\`\`\`\n${text}\n\`\`\`\n`)).join('')
}

export class GeminiStreamReader implements StreamReader {
  private hasStarted = false
  /** Calls so far, by candidate. */
  private readonly calls = new Map<number, number>()
  /** Candidates that have shown a thought, and the seals of texts that wait for their end. */
  private readonly thinking = new Set<number>()
  private readonly seals = new Map<number, Signature>()
  /** What candidates have said, which their grounding names places of, and the last of that. */
  private readonly texts = new Map<number, string>()
  private readonly groundings = new Map<number, unknown>()

  read(answer: JsonRecord): ChatEvent[] {
    const events: ChatEvent[] = []
    if (!this.hasStarted) {
      this.hasStarted = true
      events.push({ kind: 'start', id: textOr(answer.responseId) })
    }
    const candidates = arrayOr(answer.candidates)
    for (const [place, candidate] of candidates.entries()) {
      if (isRecord(candidate)) events.push(...this.readCandidate(candidate, place))
    }
    if (candidates.length === 0 && blockedChoices(answer).length > 0) {
      events.push({ kind: 'finish', choice: 0, finish: FILTERED })
    }
    return events
  }

  private readCandidate(candidate: JsonRecord, place: number): ChatEvent[] {
    const choice = typeof candidate.index === 'number' ? candidate.index : place
    const parts = partsOf(candidate)
    const events = parts.flatMap((part) => this.readPart(part, choice))
    if (isRecord(candidate.groundingMetadata)) {
      this.groundings.set(choice, joinedGrounding(this.groundings.get(choice), candidate))
    }
    for (const part of parts) {
      const seal = textSeal(part)
      if (seal !== null) this.seals.set(choice, seal)
    }
    if (textOr(candidate.finishReason) !== '') {
      const hasCalls = (this.calls.get(choice) ?? 0) > 0
      if (!hasCalls) events.push(...this.seal(choice))
      const finish = finishOf(candidate.finishReason, hasCalls)
      events.push({ kind: 'finish', choice, finish })
    }
    return events
  }

  /** What the search has found, which is told in one of the last events, or in several. */
  end(): ChatEvent[] {
    return [...this.groundings].flatMap(([choice, metadata]) => {
      const { search, citations } = readGrounding(metadata, this.texts.get(choice) ?? '')
      return [
        ...citations.map((citation) => ({ kind: 'citation' as const, choice, citation })),
        ...(search === null ? [] : [{ kind: 'search' as const, choice, search }]),
      ]
    })
  }

  private seal(choice: number): ChatEvent[] {
    const signature = this.seals.get(choice)
    this.seals.delete(choice)
    if (signature === undefined || !this.thinking.has(choice)) return []
    return [{ kind: 'signature', choice, signature }]
  }

  private readPart(sent: JsonRecord, choice: number): ChatEvent[] {
    const call = this.calls.get(choice) ?? 0
    return readPart(sent).flatMap((part): ChatEvent[] => {
      switch (part.kind) {
        case 'toolCall': {
          this.calls.set(choice, call + 1)
          const { id, name, argumentsJson, signature } = part
          return [
            { kind: 'toolCall', choice, call, id, name, signature },
            { kind: 'toolArguments', choice, call, text: argumentsJson },
          ]
        }
        case 'thinking': {
          const { text, signature } = part
          this.thinking.add(choice)
          return [
            ...(text === '' ? [] : [{ kind: 'thinking' as const, choice, text }]),
            ...(signature === null ? [] : [{ kind: 'signature' as const, choice, signature }]),
          ]
        }
        case 'image':
          return [{ kind: 'image', choice, mimeType: part.mimeType, data: part.data }]
        case 'text':
          this.texts.set(choice, (this.texts.get(choice) ?? '') + part.text)
          return [{ kind: 'text', choice, text: part.text }]
        case 'refusal':
        case 'search':
        case 'citation':
          return []
        default:
          return part satisfies never
      }
    })
  }
}
