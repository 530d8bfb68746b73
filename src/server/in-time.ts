/** Sooner than monitors give up themselves. */
const ANSWER_TIMEOUT_MS = 3000

/**
 * What the database answers to a monitor; rejects when it takes too long. A database that hangs
 * says nothing, not even that it fails.
 */
export function inTime<T>(asked: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`nothing within ${ANSWER_TIMEOUT_MS} ms`)),
    ANSWER_TIMEOUT_MS,
  )
  return Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
}
