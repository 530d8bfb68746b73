import { StepFailed, type StepAnswer, type Steps } from '../../transport/upstream-steps.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'

/**
 * Work that goes on behind its first answer: it is asked about until it is over. Work that is not
 * waited for any longer, for whatever reason, is cancelled, as it goes on costing money.
 */
export interface Work {
  /** Asks how it stands. */
  asking: UpstreamRequest
  cancel: UpstreamRequest
  /** How long it may go on: as long as an answer may take that comes whole. */
  limitMs: number
  /** Of an answer with status 200. */
  isOver: (answer: StepAnswer) => boolean
}

/** How long until it is asked about again; the last figure goes on. */
const PAUSES_MS = [250, 500, 1000, 2000, 3000]
/** What is asked about the work is known, and told at once, however long the work may take. */
const TELLING_MS = 30_000
/** Failures to learn how it stands that are passed over, one after the other. */
const MISSES_MAX = 3

/** The answer that says how it ended. */
export const followed = (steps: Steps, work: Work): Promise<StepAnswer> =>
  cancelledIfLeft(steps, work, () => askedUntilOver(steps, work))

async function askedUntilOver(steps: Steps, work: Work): Promise<StepAnswer> {
  const asking = toldSoon(work.asking)
  let misses = 0
  let waitedMs = 0
  for (let question = 0; waitedMs < work.limitMs; question += 1) {
    const pauseMs = PAUSES_MS[Math.min(question, PAUSES_MS.length - 1)] ?? 0
    await steps.wait(pauseMs)
    const askedMs = performance.now()
    const answer = await steps.fetch(asking).catch((error: unknown) => missed(steps, error))
    waitedMs += pauseMs + performance.now() - askedMs
    const isTold = !(answer instanceof Error) && answer.status === 200
    if (isTold && work.isOver(answer)) return answer
    misses = isTold ? 0 : misses + 1
    if (misses < MISSES_MAX) continue
    // What was refused is the question: the work may be done, and paid for, all the same.
    throw answer instanceof Error ? answer : new StepFailed('cut')
  }
  throw new StepFailed('timeout')
}

const toldSoon = (request: UpstreamRequest): UpstreamRequest => ({
  ...request,
  firstByteTimeoutMs: Math.min(request.firstByteTimeoutMs, TELLING_MS),
  idleTimeoutMs: Math.min(request.idleTimeoutMs, TELLING_MS),
})

/** A connection that fails is no more than an answer that does not come. */
function missed(steps: Steps, error: unknown): StepFailed {
  if (steps.isAborted || !(error instanceof StepFailed)) throw error
  return error
}

/** Cancels the work if following it fails. */
export async function cancelledIfLeft<T>(
  steps: Steps,
  { cancel }: Pick<Work, 'cancel'>,
  follow: () => Promise<T>,
): Promise<T> {
  try {
    return await follow()
  } catch (error) {
    steps.tell(toldSoon(cancel))
    throw error
  }
}
