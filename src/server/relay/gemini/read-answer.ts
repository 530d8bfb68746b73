import type {
  AnswerChoice,
  AnswerPart,
  ChatAnswer,
  ChatEvent,
  Finish,
  FinishReason,
} from '../canonical/chat-answer.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import type { StreamReader } from '../dialect/dialect.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../json/json-value.ts'
import { readGeminiUsage } from './usage.ts'

/**
 * A GenerateContentResponse in the canonical form; each event of a stream is one. Source: Gemini
 * API reference, "GenerateContentResponse". Calls come whole, and without an id in older versions:
 * they get one from their place.
 */
export function readGeminiAnswer(answer: JsonRecord): ChatAnswer {
  const id = textOr(answer.responseId)
  const choices = arrayOr(answer.candidates).map((candidate, index) =>
    readCandidate(recordOr(candidate), `${id}_${index}`),
  )
  return {
    id,
    choices: choices.length === 0 ? blockedChoices(answer) : choices,
    usage: readGeminiUsage(answer.usageMetadata, USAGE_TOKENS_MAX).usage,
  }
}

const textOr = (value: unknown): string => (typeof value === 'string' ? value : '')

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
}

function finishOf(word: unknown, hasCalls: boolean): Finish {
  const reason = FINISHES[textOr(word)] ?? 'stop'
  return { reason: reason === 'stop' && hasCalls ? 'toolCalls' : reason, stopSequence: null }
}

const partsOf = (candidate: JsonRecord): JsonRecord[] =>
  arrayOr(recordOr(candidate.content).parts).filter(isRecord)

function readCandidate(candidate: JsonRecord, prefix: string): AnswerChoice {
  const parts = partsOf(candidate).flatMap((part, index) =>
    readPart(part, `call_${prefix}_${index}`),
  )
  const joined = parts.reduce<AnswerPart[]>(joinTexts, [])
  const hasCalls = parts.some((part) => part.kind === 'toolCall')
  return { parts: joined, finish: finishOf(candidate.finishReason, hasCalls) }
}

/** Texts that follow each other are one. */
function joinTexts(parts: AnswerPart[], part: AnswerPart): AnswerPart[] {
  const last = parts.at(-1)
  if (part.kind === 'text' && last?.kind === 'text') {
    return [...parts.slice(0, -1), { kind: 'text', text: last.text + part.text }]
  }
  return [...parts, part]
}

const sealOf = (part: JsonRecord) =>
  typeof part.thoughtSignature === 'string' && part.thoughtSignature !== ''
    ? { by: 'gemini' as const, value: part.thoughtSignature }
    : null

function readPart(part: JsonRecord, callId: string): AnswerPart[] {
  const signature = sealOf(part)
  if (isRecord(part.functionCall)) {
    const { id, name, args } = part.functionCall
    return [
      {
        kind: 'toolCall',
        id: textOr(id) || callId,
        name: textOr(name),
        argumentsJson: JSON.stringify(recordOr(args)),
        signature,
      },
    ]
  }
  if (isRecord(part.inlineData)) {
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
  private id = ''
  /** Calls so far, by candidate. */
  private readonly calls = new Map<number, number>()

  read(answer: JsonRecord): ChatEvent[] {
    const events: ChatEvent[] = []
    if (!this.hasStarted) {
      this.hasStarted = true
      this.id = textOr(answer.responseId)
      events.push({ kind: 'start', id: this.id })
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
    const events = partsOf(candidate).flatMap((part) => this.readPart(part, choice))
    if (textOr(candidate.finishReason) !== '') {
      const finish = finishOf(candidate.finishReason, (this.calls.get(choice) ?? 0) > 0)
      events.push({ kind: 'finish', choice, finish })
    }
    return events
  }

  private readPart(sent: JsonRecord, choice: number): ChatEvent[] {
    const call = this.calls.get(choice) ?? 0
    return readPart(sent, `call_${this.id}_${choice}_${call}`).flatMap((part): ChatEvent[] => {
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
          return [
            ...(text === '' ? [] : [{ kind: 'thinking' as const, choice, text }]),
            ...(signature === null ? [] : [{ kind: 'signature' as const, choice, signature }]),
          ]
        }
        case 'image':
          return [{ kind: 'image', choice, mimeType: part.mimeType, data: part.data }]
        case 'text':
        case 'refusal':
          return [{ kind: part.kind, choice, text: part.text }]
        default:
          return part satisfies never
      }
    })
  }
}
