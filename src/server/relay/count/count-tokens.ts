import { scanAnswer } from '../json/body-scan.ts'
import { CompletionCounter } from './count-completion.ts'
import type { CountRequest } from './count-request.ts'
import { CountThread } from './count-thread.ts'
import { approximateTokens, estimatePromptTokens } from './estimate.ts'

/**
 * Counts prompt and completion tokens of calls whose upstream reports none. A thread counts; if it
 * fails or is overloaded, the result is an estimate: counting never fails a call.
 */
export interface TokenCounter {
  /** Prompt tokens of a whole request. */
  countRequest(request: CountRequest): Promise<number>
  /** Returns a counter for one stream of that model. */
  countCompletion(model: string): CompletionCounter
  /** Ends the thread. Later requests are estimated. */
  close(): Promise<void>
}

/** `onFault` gets the error if a figure had to be estimated. */
export function createTokenCounter(onFault: (error: Error) => void = () => {}): TokenCounter {
  const thread = new CountThread()

  async function orEstimate(counted: Promise<number>, estimate: () => number): Promise<number> {
    try {
      return await counted
    } catch (error) {
      onFault(error instanceof Error ? error : new Error(String(error)))
      return estimate()
    }
  }

  return {
    countRequest(request) {
      // A copy: the body is sent upstream meanwhile, and may share its memory with others.
      const bytes = Uint8Array.from(request.bytes)
      const question = { kind: 'request', request: { ...request, bytes } } as const
      const counted = thread.ask(question, bytes.length, [bytes.buffer])
      return orEstimate(counted, () => estimateOf(request))
    },
    countCompletion: (model) =>
      new CompletionCounter((text) =>
        orEstimate(thread.ask({ kind: 'text', model, text }, text.length), () =>
          approximateTokens(Buffer.byteLength(text)),
        ),
      ),
    close: () => thread.close(),
  }
}

function estimateOf({ model, bytes }: CountRequest): number {
  const body = scanAnswer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  return body === null ? approximateTokens(bytes.length) : estimatePromptTokens(body, model)
}
