/**
 * Open-loop load: calls begin at a fixed rate, whether or not earlier ones have ended, as those of
 * many independent clients do. Latency counts from the time at which a call should have begun.
 * Runs in a separate process, pinned to a core, and prints an `OverloadResult`.
 */
import { connect, requestBytes, type RawConnection } from './raw-http.ts'
import { childResult } from './server-process.ts'
import { quantile } from './load.ts'

export type OverloadOptions = {
  url: string
  body: string
  expect: string
  seconds: number
  /** Calls are only counted after this time. */
  warmupSeconds: number
  /** A token each, with its calls per second. */
  tokens: { key: string; perSecond: number }[]
}

export type TokenResult = {
  begun: number
  served: number
  /** Refused with 503 and `Retry-After`. */
  refused: number
  failed: number
  p50Ms: number
  p99Ms: number
}

export type OverloadResult = {
  tokens: TokenResult[]
  all: TokenResult
  firstFailure: string | null
}

const CONNECTIONS_MAX = 4000
const TICK_MS = 2
const END_MS = 15_000

type Counted = Omit<TokenResult, 'p50Ms' | 'p99Ms'> & { latenciesMs: number[] }

export function runOverload(options: OverloadOptions, core: number | null) {
  return childResult<OverloadResult>(import.meta.filename, options, core)
}

async function drive(options: OverloadOptions): Promise<OverloadResult> {
  const url = new URL(options.url)
  const expected = Buffer.from(options.expect)
  const startMs = performance.now()
  const countFromMs = startMs + options.warmupSeconds * 1000
  const endMs = countFromMs + options.seconds * 1000
  let open = 0
  let pending = 0
  let firstFailure: string | null = null

  /** Calls of one token on connections of its own. */
  function lane({ key, perSecond }: { key: string; perSecond: number }) {
    const request = requestBytes(url, {
      path: url.pathname,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: options.body,
    })
    const counted: Counted = { begun: 0, served: 0, refused: 0, failed: 0, latenciesMs: [] }
    const idle: { send(dueMs: number): void }[] = []
    const all: RawConnection[] = []
    let begun = 0

    function fail(dueMs: number, what: string): void {
      firstFailure ??= what.slice(0, 400)
      if (dueMs >= countFromMs) counted.failed += 1
    }

    function open1(dueMs: number): void {
      if (open >= CONNECTIONS_MAX) return fail(dueMs, 'no connection is free')
      open += 1
      let due: number | null = null
      const self = {
        send(nextMs: number) {
          due = nextMs
          pending += 1
          connection.send(request)
        },
      }
      const connection = connect(url, {
        onResponse({ status, head, body }) {
          pending -= 1
          const begunMs = due ?? 0
          due = null
          if (!/\r\nconnection: close\r\n/i.test(head)) idle.push(self)
          if (begunMs < countFromMs) return
          if (status === 200 && body.includes(expected)) {
            counted.served += 1
            counted.latenciesMs.push(performance.now() - begunMs)
          } else if (status === 503 && /\r\nretry-after:/i.test(head)) counted.refused += 1
          else fail(begunMs, `${head}\n\n${body.toString()}`)
        },
        onClose() {
          open -= 1
          const at = idle.indexOf(self)
          if (at >= 0) idle.splice(at, 1)
          if (due === null) return
          pending -= 1
          fail(due, 'the connection ended')
        },
      })
      all.push(connection)
      self.send(dueMs)
    }

    return {
      counted,
      tick(nowMs: number) {
        const due = Math.floor(((nowMs - startMs) / 1000) * perSecond)
        for (; begun < due; begun += 1) {
          const dueMs = startMs + (begun / perSecond) * 1000
          if (dueMs >= countFromMs) counted.begun += 1
          const connection = idle.pop()
          if (connection === undefined) open1(dueMs)
          else connection.send(dueMs)
        }
      },
      close() {
        for (const connection of all) connection.close()
      },
    }
  }

  const lanes = options.tokens.map(lane)
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const nowMs = performance.now()
      if (nowMs < endMs) for (const one of lanes) one.tick(nowMs)
      else if (pending === 0 || nowMs > endMs + END_MS) {
        clearInterval(timer)
        resolve()
      }
    }, TICK_MS)
  })
  for (const one of lanes) one.close()
  const counted = lanes.map((one) => one.counted)
  const sum = (of: (one: Counted) => number): number =>
    counted.reduce((all, one) => all + of(one), 0)
  return {
    firstFailure,
    tokens: counted.map(summary),
    all: summary({
      begun: sum(({ begun }) => begun),
      served: sum(({ served }) => served),
      refused: sum(({ refused }) => refused),
      failed: sum(({ failed }) => failed),
      latenciesMs: counted.flatMap(({ latenciesMs }) => latenciesMs),
    }),
  }
}

function summary({ latenciesMs, ...counts }: Counted): TokenResult {
  const sorted = Float64Array.from(latenciesMs).toSorted()
  return { ...counts, p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) }
}

if (import.meta.main) {
  // The parent passes the options as the only argument.
  const options = JSON.parse(process.argv[2] ?? '') as OverloadOptions
  process.stdout.write(JSON.stringify(await drive(options)))
}
