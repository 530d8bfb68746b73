/**
 * A closed loop of calls: each connection sends its next call after the response to the last one,
 * or at a fixed rate if one is set.
 *
 * node bench/load.ts '{"url":"http://127.0.0.1:3000/v1/chat/completions","connections":32,…}'
 *
 * Runs in a separate process, so that it can be pinned to a core, and prints a `LoadResult`.
 */
import { connect, requestBytes, type RawConnection } from './raw-http.ts'
import { childResult } from './server-process.ts'

export type LoadOptions = {
  url: string
  headers: Record<string, string>
  body: string
  connections: number
  warmupSeconds: number
  seconds: number
  /** A text that every response must contain. */
  expect: string
  /** Maximum rate; if not set, each connection sends its next call immediately. */
  perSecondMax?: number
}

export type LoadResult = {
  /**
   * Total number of correct responses, including warm-up and last calls: all must be on the books.
   */
  answered: number
  /** Wrong responses and broken connections. */
  failed: number
  /** The first wrong response, for diagnosis. */
  firstFailure: string | null
  perSecond: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

const RECONNECT_MS = 50
const FAILURE_CHARACTERS = 400

/** Runs the load in a child process, on the given core if not null. */
export function runLoad(options: LoadOptions, core: number | null): Promise<LoadResult> {
  return childResult(import.meta.filename, options, core)
}

/** Runs the load in this process. Waits for calls in progress at the end. */
export function driveLoad(options: LoadOptions): Promise<LoadResult> {
  const url = new URL(options.url)
  const request = requestBytes(url, {
    path: url.pathname + url.search,
    headers: { 'content-type': 'application/json', ...options.headers },
    body: options.body,
  })
  const expected = Buffer.from(options.expect)
  const latenciesMs: number[] = []
  const measureFromMs = performance.now() + options.warmupSeconds * 1000
  const measureToMs = measureFromMs + options.seconds * 1000
  const result: Pick<LoadResult, 'answered' | 'failed' | 'firstFailure'> = {
    answered: 0,
    failed: 0,
    firstFailure: null,
  }
  const paceMs =
    options.perSecondMax === undefined ? 0 : (options.connections / options.perSecondMax) * 1000
  const fail = (what: string) => {
    result.failed += 1
    result.firstFailure ??= what.slice(0, FAILURE_CHARACTERS)
  }
  return new Promise((resolve) => {
    let open = options.connections
    const finish = (connection: RawConnection) => {
      connection.close()
      open -= 1
      if (open === 0) resolve({ ...result, ...summary(latenciesMs, options.seconds) })
    }
    const start = () => {
      let sentAtMs = performance.now()
      let dueAtMs = sentAtMs
      const send = () => {
        sentAtMs = performance.now()
        connection.send(request)
      }
      const connection = connect(url, {
        onResponse: ({ status, head, body }) => {
          const nowMs = performance.now()
          if (status === 200 && body.includes(expected)) {
            result.answered += 1
            if (sentAtMs >= measureFromMs && nowMs <= measureToMs) {
              latenciesMs.push(nowMs - sentAtMs)
            }
          } else fail(`${head}\n\n${body.toString()}`)
          if (nowMs >= measureToMs) return finish(connection)
          dueAtMs += paceMs
          if (dueAtMs <= nowMs) send()
          else setTimeout(send, dueAtMs - nowMs)
        },
        onClose: () => {
          fail('the connection ended')
          if (performance.now() >= measureToMs) return finish(connection)
          setTimeout(start, RECONNECT_MS)
        },
      })
      send()
    }
    for (let index = 0; index < options.connections; index++) start()
  })
}

function summary(latenciesMs: number[], seconds: number) {
  const sorted = Float64Array.from(latenciesMs).toSorted()
  return {
    perSecond: sorted.length / seconds,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    maxMs: quantile(sorted, 1),
  }
}

/** Returns the quantile `share` of a sorted list; 0 for an empty list. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

if (import.meta.main) {
  const options: LoadOptions = JSON.parse(process.argv[2] ?? '{}')
  process.stdout.write(JSON.stringify(await driveLoad(options)))
}
