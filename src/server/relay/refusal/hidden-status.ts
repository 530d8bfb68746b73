import type { AnswerReader } from '../dialect/dialect.ts'
import { isRecord } from '../json/json-value.ts'

/** Status of an error that an upstream hides in a good answer, and does not number. */
const HIDDEN_STATUS = 502

/** The status that an error inside a good answer would have had by itself. */
export function hiddenStatus(error: unknown, upstream: Pick<AnswerReader, 'statusOf'>): number {
  const told = isRecord(error) ? upstream.statusOf?.(error) : undefined
  return told ?? HIDDEN_STATUS
}
