import type { UsageReading } from '../canonical/token-usage.ts'
import type { StreamEnding, StreamOutcome } from './dialect.ts'

/** What breaks a stream, whatever follows; null: nothing has. */
export type StreamFlaw = 'error-chunk' | 'malformed' | null

/** How a stream went. Whether it has said all that it must, only its dialect can tell. */
export function outcomeOf(
  { flaw, isComplete, usage }: { flaw: StreamFlaw; isComplete: boolean; usage: UsageReading },
  ending: StreamEnding,
): StreamOutcome {
  if (flaw !== null) return flaw
  if (isComplete) return usage.usage === null ? 'usage-missing' : 'clean'
  if (ending === 'stalled') return 'stalled'
  return ending === 'oversized' ? 'malformed' : 'truncated'
}
