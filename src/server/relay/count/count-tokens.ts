import { scanAnswer } from '../json/body-scan.ts'
import { CompletionCounter } from './count-completion.ts'
import { countRequestTokens } from './count-request.ts'
import type { CountRequest } from './count-request.ts'
import { CountThread } from './count-thread.ts'
import type { CountQuestion } from './count-worker.ts'
import { approximateTokens, estimatePromptTokens } from './estimate.ts'
import { Tokenizer } from './tokenizer.ts'
import { encodingOf, openVocabulary } from './vocabulary.ts'
import type { EncodingName } from './vocabulary.ts'

/**
 * Exact counts of prompt and completion tokens, for calls whose upstream reports none.
 *
 * Small inputs are counted at once, where they are, as soon as the vocabulary is there; a number is
 * answered then, not a promise, so that the usual path stays without one. Larger ones go to a
 * thread of their own, which also builds the vocabularies. If that thread fails, or has too much to
 * do, the answer is an estimate: counting never fails a call.
 */
export interface TokenCounter {
  /** Prompt tokens of a whole request. */
  countRequest(request: CountRequest): number | Promise<number>
  /** Tokens of a text, as the model would read or write it. */
  countText(model: string, text: string): number | Promise<number>
  /** A counter for one stream of that model. */
  countCompletion(model: string): CompletionCounter
  /**
   * Loads the vocabulary of that model, which otherwise happens when it is first needed. Never
   * rejects.
   */
  load(model: string): Promise<void>
  /** Ends the thread. What is asked afterwards is estimated. */
  close(): Promise<void>
}

/** Above this many bytes (or UTF-16 units of a text) counting takes a millisecond and more. */
export const INLINE_BYTES_MAX = 64 * 1024

/** `onFault` learns why a figure was estimated. */
export function createTokenCounter(onFault: (error: Error) => void = () => {}): TokenCounter {
  const thread = new CountThread()
  const tokenizers = new Map<EncodingName, Tokenizer>()
  const loading = new Map<EncodingName, Promise<Tokenizer>>()

  function load(encoding: EncodingName): Promise<Tokenizer> {
    const begun = loading.get(encoding)
    if (begun !== undefined) return begun
    const started = loadTokenizer(thread, encoding)
    loading.set(encoding, started)
    started.then(
      (tokenizer) => tokenizers.set(encoding, tokenizer),
      // Forgotten, so that the next call tries again.
      () => loading.delete(encoding),
    )
    return started
  }
  const tokenizerOf = (model: string): Tokenizer | Promise<Tokenizer> => {
    const encoding = encodingOf(model)
    return tokenizers.get(encoding) ?? load(encoding)
  }

  /**
   * Here if it is small and the tokenizer there, or comes; else by the thread; else by
   * estimate.
   */
  function count(what: Countable): number | Promise<number> {
    const orEstimate = (error: unknown) => {
      onFault(asError(error))
      return what.estimate()
    }
    if (what.size > INLINE_BYTES_MAX) return countByThread(thread, what).catch(orEstimate)
    const tokenizer = tokenizerOf(what.model)
    return tokenizer instanceof Promise
      ? tokenizer.then(what.countHere).catch(orEstimate)
      : what.countHere(tokenizer)
  }

  return {
    countRequest: (request) => count(countableRequest(request)),
    countText: (model, text) => count(countableText(model, text)),
    countCompletion: (model) => new CompletionCounter(() => tokenizerOf(model)),
    load: async (model) => {
      try {
        await tokenizerOf(model)
      } catch (error) {
        onFault(asError(error))
      }
    },
    close: () => thread.close(),
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

interface Countable {
  model: string
  size: number
  countHere: (tokenizer: Tokenizer) => number
  estimate: () => number
  /** The question for the thread, and the buffers that go with it for good. */
  question: () => { question: CountQuestion; moved: ArrayBuffer[] }
}

function countableRequest(request: CountRequest): Countable {
  const { model, bytes } = request
  return {
    model,
    size: bytes.length,
    countHere: (tokenizer) => countRequestTokens(request, tokenizer),
    estimate: () => {
      const body = scanAnswer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
      return body === null ? approximateTokens(bytes.length) : estimatePromptTokens(body, model)
    },
    question: () => {
      // A copy of its own: the body goes upstream meanwhile, and may share its memory with others.
      const copy = Uint8Array.from(bytes)
      return {
        question: { kind: 'request', request: { ...request, bytes: copy } },
        moved: [copy.buffer],
      }
    },
  }
}

function countableText(model: string, text: string): Countable {
  return {
    model,
    size: text.length,
    countHere: (tokenizer) => tokenizer.count(text),
    estimate: () => approximateTokens(Buffer.byteLength(text)),
    question: () => ({
      question: { kind: 'text', encoding: encodingOf(model), text },
      moved: [],
    }),
  }
}

async function countByThread(thread: CountThread, what: Countable): Promise<number> {
  const { question, moved } = what.question()
  const reply = await thread.ask(question, what.size, moved)
  if (!('tokens' in reply)) throw new Error('the counting thread answered another question')
  return reply.tokens
}

async function loadTokenizer(thread: CountThread, encoding: EncodingName): Promise<Tokenizer> {
  const reply = await thread.ask({ kind: 'vocabulary', encoding }, 0)
  if (!('shared' in reply)) throw new Error('the counting thread answered another question')
  return new Tokenizer(openVocabulary(encoding, reply.shared))
}
