import { StepFailed, type StepAnswer, type Steps } from '../../transport/upstream-steps.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'

/**
 * Job that continues after its first response and is polled until it ends. A job is cancelled if
 * polling stops for any reason, because it continues to cost money.
 */
export interface Work {
  /** Request that polls the job's state. */
  asking: UpstreamRequest
  cancel: UpstreamRequest
  /** Maximum duration, in ms: the timeout of a whole response. */
  limitMs: number
  /** Whether a response with status 200 reports the end of the job. */
  isOver: (answer: StepAnswer) => boolean
}

/** Pauses before each poll, in ms; the last value repeats. */
const PAUSES_MS = [250, 500, 1000, 2000, 3000]
/**
 * Timeout of a single poll, in ms: the state is available immediately, however long the job takes.
 */
const TELLING_MS = 30_000
/** Consecutive failed polls that are tolerated. */
const MISSES_MAX = 3

/** Returns the response that reports the end of the job. */
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
    // Only polling has failed: the job may have finished, and been charged.
    throw answer instanceof Error ? answer : new StepFailed('cut')
  }
  throw new StepFailed('timeout')
}

const toldSoon = (request: UpstreamRequest): UpstreamRequest => ({
  ...request,
  firstByteTimeoutMs: Math.min(request.firstByteTimeoutMs, TELLING_MS),
  idleTimeoutMs: Math.min(request.idleTimeoutMs, TELLING_MS),
})

/** Treats a failed connection like a failed response. */
function missed(steps: Steps, error: unknown): StepFailed {
  if (steps.isAborted || !(error instanceof StepFailed)) throw error
  return error
}

/** Cancels the job if following it fails. */
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
