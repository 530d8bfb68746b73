import type { ChatEvent, Finish, FinishReason } from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { objectText } from '../canonical/arguments-text.ts'
import { USAGE_TOKENS_MAX, type UsageReading } from '../canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader, StreamState } from '../dialect/dialect.ts'
import {
  appendAll,
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import { failureIn, saysAnything } from './failed-answer.ts'
import { joinedGrounding, readGrounding } from './grounding.ts'
import { joinedResponse } from './joined-response.ts'
import { Searches, withSearches, type AskedSearches } from './searches.ts'
import { embeddingMetadata, readGeminiUsage } from './usage.ts'

/**
 * Reads a GenerateContentResponse into events; each event of a stream is one. Source: Gemini API
 * reference, "GenerateContentResponse". Calls come whole, and without an id in older versions:
 * `dialect/answer-changes.ts` adds one.
 *
 * A whole answer that comes as a list of responses (as an unrequested stream does) is joined first.
 * `asked`: the searches that the request allows, if not the default.
 */
export function readGeminiAnswer(bytes: Buffer, asked?: AskedSearches): AnswerReading {
  const sent = parseJson(bytes.toString('utf8'))
  const value = Array.isArray(sent) ? joinedResponse(sent) : sent
  if (!isRecord(value)) return { kind: 'malformed' }
  if (isRecord(value.error)) return { kind: 'error', error: value.error }
  // Usage alone is not an answer: some models return nothing, and another channel may answer.
  if (isSilent(value)) return { kind: 'malformed' }
  const failure = failureIn(value, false)
  const searches = new Searches(asked)
  searches.see(value)
  const metadata = isEmbedding(value) ? embeddingMetadata(value.usageMetadata) : value.usageMetadata
  const isJoined = value !== sent
  return {
    kind: 'ok',
    usage: usageOf(metadata, searches),
    ...(isJoined ? { body: Buffer.from(JSON.stringify(value)) } : {}),
    ...(failure === null ? {} : { failure }),
    events: () => eventsOfResponse(value),
  }
}

function eventsOfResponse(response: JsonRecord): ChatEvent[] {
  const reader = new GeminiStreamReader()
  const { id = '', events = [] } = reader.read(response)
  return [{ kind: 'start', id }, ...events, ...reader.end()]
}

const usageOf = (metadata: unknown, searches: Searches): UsageReading =>
  withSearches(readGeminiUsage(metadata, USAGE_TOKENS_MAX, searches.isReadingFree), searches)

const isSilent = (value: JsonRecord): boolean =>
  arrayOr(value.candidates).length === 0 && !isBlocked(value) && !isEmbedding(value)

/** Members of which every answer of this dialect has at least one. */
const ANSWER_MEMBERS = ['candidates', 'promptFeedback', 'usageMetadata', 'embedding', 'embeddings']

const isEmbedding = (value: JsonRecord): boolean => 'embedding' in value || 'embeddings' in value

const isAnswer = (value: JsonRecord): boolean => ANSWER_MEMBERS.some((name) => name in value)

/** Whether the prompt was rejected: there are no candidates, only the reason. */
const isBlocked = ({ promptFeedback }: JsonRecord): boolean =>
  textOr(recordOr(promptFeedback).blockReason) !== ''

const FILTERED: Finish = { reason: 'filtered', stopSequence: null }

const FINISHES: Readonly<Record<string, FinishReason>> = {
  MAX_TOKENS: 'length',
  SAFETY: 'filtered',
  RECITATION: 'filtered',
  LANGUAGE: 'filtered',
  BLOCKLIST: 'filtered',
  PROHIBITED_CONTENT: 'filtered',
  SPII: 'filtered',
  MODEL_ARMOR: 'filtered',
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

const sealOf = (part: JsonRecord): Signature | null =>
  typeof part.thoughtSignature === 'string' && part.thoughtSignature !== ''
    ? { by: 'gemini', value: part.thoughtSignature }
    : null

/**
 * Signature of a text. Gemini requires the signature of a call, but only recommends this one. It is
 * passed on if its thought is shown; no thought is added to carry it.
 */
const textSeal = (part: JsonRecord): Signature | null =>
  typeof part.text === 'string' && part.thought !== true ? sealOf(part) : null

/** Code that Gemini ran, and its result, as text. */
function codeText({ executableCode, codeExecutionResult }: JsonRecord): string {
  const code = textOr(recordOr(executableCode).code)
  const output = textOr(recordOr(codeExecutionResult).output)
  return [code, output].map((text) => (text === '' ? '' : `\n\`\`\`\n${text}\n\`\`\`\n`)).join('')
}

/** Maximum index; no upstream offers more choices. */
const INDEX_MAX = 1024

function indexOf({ index }: JsonRecord, place: number): number {
  const isIndex = typeof index === 'number' && index >= 0 && index < INDEX_MAX
  return isIndex ? index : place
}

/**
 * Reads a stream, whose events are whole responses. It is complete when every candidate has its
 * finish reason, or the prompt was rejected. The relay holds that event back (`last`): it is a
 * client's only sign that the answer is complete.
 */
export class GeminiStreamReader implements StreamReader {
  private readonly searches: Searches
  private readonly candidates = new Set<number>()
  private readonly finished = new Set<number>()
  private isBlocked = false
  /** Something other than thoughts has arrived. */
  private hasBegun = false
  /** Last usable usage, as sent: its meaning depends on the searches. */
  private metadata: unknown = undefined
  /** Number of calls so far, by candidate. */
  private readonly calls = new Map<number, number>()
  /** Candidates that have shown a thought, and signatures of texts that wait for their end. */
  private readonly thinking = new Set<number>()
  private readonly seals = new Map<number, Signature>()
  /**
   * Texts of the candidates, which their grounding refers to by position, and the last metadata.
   */
  private readonly texts = new Map<number, string>()
  private readonly groundings = new Map<number, unknown>()

  constructor(asked?: AskedSearches) {
    this.searches = new Searches(asked)
  }

  read(response: JsonRecord): EventReport {
    if (isRecord(response.error)) return { error: response.error }
    if (!isAnswer(response)) return { kind: 'malformed' }
    const figures = this.takeUsage(response)
    // Until the first content another channel may still be tried.
    if (isSilent(response) && this.candidates.size === 0) return { ...figures, kind: 'idle' }
    const failure = failureIn(response, this.hasBegun)
    const candidates = arrayOr(response.candidates)
    const events: ChatEvent[] = []
    let isLast = candidates.length === 0
    for (const [place, sent] of candidates.entries()) {
      const candidate = recordOr(sent)
      isLast ||= textOr(candidate.finishReason) !== ''
      this.hasBegun ||= saysAnything(candidate)
      this.readCandidate(candidate, indexOf(candidate, place), events)
    }
    if (isBlocked(response)) {
      this.isBlocked = true
      if (candidates.length === 0) events.push({ kind: 'finish', choice: 0, finish: FILTERED })
    }
    return {
      ...figures,
      id: textOr(response.responseId),
      events,
      ...(failure === null ? {} : { failure }),
      ...(isLast ? { kind: 'last' } : {}),
    }
  }

  /** Returns search results, which arrive in one of the last events, or in several. */
  end(): ChatEvent[] {
    return [...this.groundings].flatMap(([choice, metadata]) => {
      const { search, citations } = this.groundingEvents(metadata, choice)
      return [...citations, ...search]
    })
  }

  isComplete(_at: StreamState): boolean {
    const isFinished = this.finished.size > 0 && this.finished.size === this.candidates.size
    return isFinished || this.isBlocked
  }

  private takeUsage(response: JsonRecord): EventReport {
    const { searches } = this
    searches.see(response)
    const sent = usageOf(response.usageMetadata, searches)
    const isBlank = sent.fault === 'absent' || sent.fault === 'empty'
    if (!isBlank) this.metadata = response.usageMetadata
    const isKnown = this.metadata !== undefined
    const usage = isBlank && isKnown ? usageOf(this.metadata, searches) : sent
    const { extras } = searches
    return {
      ...(isKnown ? { usage } : {}),
      ...(extras.tools === undefined ? {} : { extras }),
    }
  }

  private readCandidate(candidate: JsonRecord, choice: number, events: ChatEvent[]): void {
    const isFirst = !this.candidates.has(choice)
    this.candidates.add(choice)
    const at = events.length
    for (const part of partsOf(candidate)) {
      this.readPart(part, choice, events)
      const seal = textSeal(part)
      if (seal !== null) this.seals.set(choice, seal)
    }
    const isFinished = textOr(candidate.finishReason) !== ''
    if (isRecord(candidate.groundingMetadata)) {
      const metadata = joinedGrounding(this.groundings.get(choice), candidate)
      if (isFirst && isFinished) {
        // The whole answer is in one event: the search belongs before its text.
        const { search, citations } = this.groundingEvents(metadata, choice)
        events.splice(at, 0, ...search)
        appendAll(events, citations)
      } else this.groundings.set(choice, metadata)
    }
    if (!isFinished) return
    this.finished.add(choice)
    const hasCalls = (this.calls.get(choice) ?? 0) > 0
    if (!hasCalls) events.push(...this.seal(choice))
    const finish = finishOf(candidate.finishReason, hasCalls)
    events.push({ kind: 'finish', choice, finish })
  }

  private groundingEvents(metadata: unknown, choice: number) {
    const { search, citations } = readGrounding(metadata, this.texts.get(choice) ?? '')
    return {
      search: search === null ? [] : [{ kind: 'search' as const, choice, search }],
      citations: citations.map((citation) => ({ kind: 'citation' as const, choice, citation })),
    }
  }

  private seal(choice: number): ChatEvent[] {
    const signature = this.seals.get(choice)
    this.seals.delete(choice)
    if (signature === undefined || !this.thinking.has(choice)) return []
    return [{ kind: 'signature', choice, signature }]
  }

  private readPart(part: JsonRecord, choice: number, events: ChatEvent[]): void {
    const signature = sealOf(part)
    if (isRecord(part.functionCall)) {
      const call = this.calls.get(choice) ?? 0
      this.calls.set(choice, call + 1)
      const { id, name, args } = part.functionCall
      events.push(
        { kind: 'toolCall', choice, call, id: textOr(id), name: textOr(name), signature },
        { kind: 'toolArguments', choice, call, text: objectText(args) },
      )
      return
    }
    if (isRecord(part.inlineData)) {
      // A draft of the image: no dialect has a member for thoughts that are images.
      if (part.thought === true) return
      const { mimeType, data } = part.inlineData
      events.push({ kind: 'image', choice, mimeType: textOr(mimeType), data: textOr(data) })
      return
    }
    const text = textOr(part.text) + codeText(part)
    if (part.thought === true) {
      this.thinking.add(choice)
      if (text !== '') events.push({ kind: 'thinking', choice, text })
      if (signature !== null) events.push({ kind: 'signature', choice, signature })
      return
    }
    if (text === '') return
    this.texts.set(choice, (this.texts.get(choice) ?? '') + text)
    events.push({ kind: 'text', choice, text })
  }
}
