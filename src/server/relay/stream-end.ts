import type { Language } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import type { StreamChunk } from './openai/openai-chunk.ts'
import type { BreakReason, Charge, RelayCall } from './relay-call.ts'
import { errorBody, ownError, secretsOf, upstreamError } from './relay-error.ts'
import type { StreamOutcome } from './openai/stream-outcome.ts'

/** What a client of a stream is told at its end, or when it goes wrong in the middle. */

const DONE = 'data: [DONE]\n\n'

/** The final cost, for clients that ask for it; other clients take a comment for a keep-alive. */
export const costComment = (charged: number): string => `: cost ${charged}\n\n`

/**
 * The last bytes after an outcome. `[DONE]` tells a client that it has the whole answer; after
 * anything else it gets an error event instead, unless the upstream's own error went before.
 */
export function endOfStream(
  result: StreamOutcome,
  { brokenOff, language, requestId }: EndedCall,
): string {
  if (result === 'clean' || result === 'usage-missing') return DONE
  if (result === 'error-chunk') return ''
  const code = brokenOff ?? (result === 'stalled' ? 'upstream_timeout' : 'upstream_cut')
  return `data: ${errorBody(ownError(new AppError(code), language), requestId)}\n\n`
}

interface EndedCall {
  /** Set when we have ended the stream ourselves. */
  brokenOff: BreakReason | null
  language: Language
  requestId: string
}

/** Status of an error that an upstream hides in a good answer. */
const HIDDEN_ERROR_STATUS = 502

/** The upstream's error chunk as the client may see it. */
export function cleanError(
  { error }: StreamChunk,
  { language, requestId }: RelayCall,
  { channel }: Charge,
): Buffer {
  const body = Buffer.from(JSON.stringify({ error }))
  const said = upstreamError({ status: HIDDEN_ERROR_STATUS, body }, language, secretsOf(channel))
  return Buffer.from(`data: ${errorBody(said, requestId)}\n\n`)
}
