import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { UsageReading } from '../canonical/token-usage.ts'
import type {
  AnswerReading,
  DeltaText,
  StreamChunk,
  StreamEnding,
  StreamFollower,
  StreamOutcome,
} from '../dialect/dialect.ts'
import { outcomeOf, type StreamFlaw } from '../dialect/outcome.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../json/json-value.ts'
import type { SseEvent } from '../transport/sse.ts'
import { failureIn, saysAnything } from './failed-answer.ts'
import { joinedResponse } from './joined-response.ts'
import { Searches, withSearches, type AskedSearches } from './searches.ts'
import { embeddingMetadata, readGeminiUsage } from './usage.ts'

/** Answers of Gemini's dialect as far as the relay itself looks at them. */

export interface LookedAt {
  /** What the request lets the model search, where that is not the usual. */
  asked?: AskedSearches
  /** The client speaks another dialect, and hears of a failure only as an error. */
  isConverted?: boolean
}

/**
 * One whole answer. A stream that was not asked for as events is a list of them, which is read as
 * the answer that its parts make up.
 */
export function lookAtResponse(
  bytes: Buffer,
  tokensMax: number,
  { asked, isConverted = false }: LookedAt = {},
): AnswerReading {
  const sent = parseJson(bytes.toString('utf8'))
  const value = Array.isArray(sent) ? joinedResponse(sent) : sent
  if (!isRecord(value)) return { kind: 'malformed' }
  if (isRecord(value.error)) return { kind: 'error', error: value.error }
  // Figures alone are no answer: some models fall silent, and another channel may not.
  if (isSilent(value)) return { kind: 'malformed' }
  const failure = isConverted ? failureIn(value, false) : null
  if (failure !== null) return { kind: 'error', error: failure }
  const searches = new Searches(asked)
  searches.see(value)
  const metadata = isEmbedding(value) ? embeddingMetadata(value.usageMetadata) : value.usageMetadata
  const usage = usageOf(metadata, tokensMax, searches)
  const isJoined = value !== sent
  return { kind: 'ok', usage, ...(isJoined ? { body: Buffer.from(JSON.stringify(value)) } : {}) }
}

const usageOf = (metadata: unknown, tokensMax: number, searches: Searches): UsageReading =>
  withSearches(readGeminiUsage(metadata, tokensMax, searches.isReadingFree), searches)

const isSilent = (value: JsonRecord): boolean =>
  arrayOr(value.candidates).length === 0 && !isBlocked(value) && !isEmbedding(value)

/** One of the members that every answer of this dialect has. */
const ANSWER_MEMBERS = ['candidates', 'promptFeedback', 'usageMetadata', 'embedding', 'embeddings']

const isEmbedding = (value: JsonRecord): boolean => 'embedding' in value || 'embeddings' in value

const isAnswer = (value: JsonRecord): boolean => ANSWER_MEMBERS.some((name) => name in value)

const LANES_MAX = 4096

/** Each candidate has a lane for its words and one for its thoughts and calls. */
export function textsOfResponse(answer: JsonRecord): DeltaText[] {
  return arrayOr(answer.candidates).flatMap((sent, place) => {
    const candidate = recordOr(sent)
    const index = typeof candidate.index === 'number' ? candidate.index : place
    const lane = index >= 0 && index < LANES_MAX ? index * 2 : 0
    return arrayOr(recordOr(candidate.content).parts).flatMap((value) => {
      const part = recordOr(value)
      if (isRecord(part.functionCall)) {
        const tool = textOr(part.functionCall.name)
        return [{ lane: lane + 1, text: JSON.stringify(part.functionCall), tool }]
      }
      if (typeof part.text !== 'string' || part.text === '') return []
      return [{ lane: part.thought === true ? lane + 1 : lane, text: part.text }]
    })
  })
}

/** The prompt was refused: there are no candidates, only the reason. */
const isBlocked = (value: JsonRecord): boolean =>
  typeof recordOr(value.promptFeedback).blockReason === 'string'

const hasFinish = (candidate: unknown): boolean => {
  const reason = recordOr(candidate).finishReason
  return typeof reason === 'string' && reason !== ''
}

/**
 * Follows one stream, whose events are whole responses. It is complete when every candidate seen
 * has its finish reason, or the prompt was refused. What carries such an end is held back by the
 * relay (`last`): nothing else tells a client of this dialect that it has the whole answer.
 */
export class GeminiStream implements StreamFollower {
  /** This dialect has no last word; only the connection's end ends a stream. */
  readonly isDone = false

  private readonly tokensMax: number
  private readonly isConverted: boolean
  private readonly candidates = new Set<unknown>()
  private readonly finished = new Set<unknown>()
  private readonly searches: Searches
  /** The last figures worth the name, as sent: what they mean is known at the end. */
  private metadata: unknown
  private hasBegun = false
  private isBlocked = false
  private flaw: StreamFlaw = null

  constructor(tokensMax: number, { asked, isConverted = false }: LookedAt = {}) {
    this.tokensMax = tokensMax
    this.isConverted = isConverted
    this.searches = new Searches(asked)
  }

  read({ data }: SseEvent): StreamChunk {
    const value = data === null ? undefined : parseJson(data.toString('utf8'))
    const chunk: StreamChunk = { kind: 'malformed', texts: [], error: undefined, value: null }
    if (!isRecord(value)) return chunk
    chunk.value = value
    if (isRecord(value.error)) return { ...chunk, kind: 'error', error: value.error }
    if (!isAnswer(value)) return chunk
    // Until the first word another channel may still be asked.
    if (isSilent(value) && this.candidates.size === 0) return { ...chunk, kind: 'idle' }
    const failure = this.isConverted ? failureIn(value, this.hasBegun) : null
    if (failure !== null) return { ...chunk, kind: 'error', error: failure }
    const candidates = arrayOr(value.candidates)
    const isLast = candidates.length === 0 || candidates.some(hasFinish)
    return { ...chunk, kind: isLast ? 'last' : 'delta', texts: textsOfResponse(value) }
  }

  see(chunk: StreamChunk, isTerminated = true): void {
    if (this.isOver) return
    if (chunk.kind === 'malformed') {
      if (isTerminated) this.flaw = 'malformed'
      return
    }
    if (chunk.kind === 'error') this.flaw = 'error-chunk'
    const value = chunk.value ?? {}
    for (const [place, candidate] of arrayOr(value.candidates).entries()) {
      const index = recordOr(candidate).index ?? place
      this.candidates.add(index)
      if (hasFinish(candidate)) this.finished.add(index)
    }
    this.hasBegun ||= arrayOr(value.candidates).some(saysAnything)
    this.isBlocked ||= isBlocked(value)
    this.searches.see(value)
    const { fault } = readGeminiUsage(value.usageMetadata, this.tokensMax)
    if (fault !== 'absent' && fault !== 'empty') this.metadata = value.usageMetadata
  }

  get usage(): UsageReading {
    return usageOf(this.metadata, this.tokensMax, this.searches)
  }

  get extras(): UsedExtras {
    return this.searches.extras
  }

  get isOver(): boolean {
    return this.flaw !== null
  }

  outcome(ending: StreamEnding): StreamOutcome {
    const { flaw, usage } = this
    const isFinished = this.finished.size > 0 && this.finished.size === this.candidates.size
    return outcomeOf({ flaw, isComplete: isFinished || this.isBlocked, usage }, ending)
  }
}
