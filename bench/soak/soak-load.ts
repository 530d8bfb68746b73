/**
 * The calls of a soak: plain calls and streams at a fixed rate, and slow streams of which the
 * client aborts every second one. Runs in a separate process, pinned to a core, and prints a
 * `SoakLoad`.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { note, requestsOf, type Round } from '../crash.ts'
import { quantile } from '../load.ts'
import { connect, type RawResponse } from '../raw-http.ts'
import { childResult } from '../server-process.ts'

export type SoakLoadOptions = {
  url: string
  /** Tokens, in turn. */
  keys: string[]
  perSecond: number
  minutes: number
}

export type SoakLoad = {
  complete: number
  completeStreams: number
  /** Streams that the client ended before their last byte. */
  aborted: number
  /** Calls refused with 503 and `Retry-After`, because other programs kept the machine busy. */
  refused: number
  unexpected: string[]
  /** Of each minute. */
  minutes: { calls: number; p50Ms: number; p99Ms: number }[]
}

const CONNECTIONS = 24
const SLOW_STREAMS = 16
/** Index in `requestsOf` of the stream that the upstream sends slowly. */
const SLOW = 2
const ABORT_MAX_MS = 400
const UNEXPECTED_SHOWN = 5

export function runSoakLoad(options: SoakLoadOptions, core: number | null): Promise<SoakLoad> {
  return childResult(import.meta.filename, options, core)
}

async function drive({ url, keys, perSecond, minutes }: SoakLoadOptions): Promise<SoakLoad> {
  const target = new URL(url)
  const requests = keys.map((key) => requestsOf(target, key))
  const endMs = performance.now() + minutes * 60_000
  const result: SoakLoad = {
    complete: 0,
    completeStreams: 0,
    aborted: 0,
    refused: 0,
    unexpected: [],
    minutes: [],
  }
  let latenciesMs: number[] = []

  function unexpected(what: string): void {
    if (result.unexpected.length < UNEXPECTED_SHOWN) result.unexpected.push(what)
  }

  function ended(response: RawResponse): void {
    if (response.status === 503 && /\r\nretry-after:/i.test(response.head)) {
      result.refused += 1
      return
    }
    // A map of its own for each response: an hour's request ids would fill the memory.
    const round: Round = { complete: new Map(), interrupted: 0, unexpected: [] }
    note(round, response)
    for (const what of round.unexpected) unexpected(what)
    result.complete += round.complete.size
    const [isStream = false] = round.complete.values()
    if (isStream) result.completeStreams += 1
  }

  /** One connection of the steady rate. */
  function steady(index: number): Promise<void> {
    const paceMs = (CONNECTIONS / perSecond) * 1000
    const own = requests[index % requests.length] ?? []
    const quick = own.filter((_, at) => at !== SLOW)
    return new Promise((resolve) => {
      let sent = index
      let sentAtMs = performance.now()
      let dueAtMs = sentAtMs
      const connection = connect(target, {
        onResponse(response) {
          const nowMs = performance.now()
          latenciesMs.push(nowMs - sentAtMs)
          ended(response)
          if (nowMs >= endMs) {
            connection.close()
            resolve()
            return
          }
          // A call that could not be sent in time is not sent later.
          dueAtMs = Math.max(dueAtMs + paceMs, nowMs)
          setTimeout(send, dueAtMs - nowMs)
        },
        onClose() {
          unexpected('the server closed a connection')
          if (performance.now() >= endMs) resolve()
          else setTimeout(() => void steady(index).then(resolve), 1000)
        },
      })
      const send = () => {
        sentAtMs = performance.now()
        connection.send(quick[sent++ % quick.length] ?? Buffer.alloc(0))
      }
      send()
    })
  }

  /** Slow streams, one after the other; every second one is aborted at a random time. */
  async function slow(index: number): Promise<void> {
    const request = requests[index % requests.length]?.[SLOW] ?? Buffer.alloc(0)
    for (let count = index; performance.now() < endMs; count += 1) {
      await new Promise<void>((resolve) => {
        let isOver = false
        const connection = connect(target, {
          onResponse(response) {
            isOver = true
            connection.close()
            ended(response)
            resolve()
          },
          onClose() {
            isOver = true
            unexpected('the server closed a stream')
            setTimeout(resolve, 1000)
          },
        })
        connection.send(request)
        if (count % 2 === 1) {
          setTimeout(() => {
            if (isOver) return
            result.aborted += 1
            connection.close()
            resolve()
          }, randomInt(ABORT_MAX_MS))
        }
      })
    }
  }

  const timer = setInterval(() => {
    const sorted = Float64Array.from(latenciesMs).toSorted()
    latenciesMs = []
    const [p50Ms, p99Ms] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
    result.minutes.push({ calls: sorted.length, p50Ms, p99Ms })
  }, 60_000)
  await Promise.all([
    ...Array.from({ length: CONNECTIONS }, (_, index) => steady(index)),
    ...Array.from({ length: SLOW_STREAMS }, (_, index) => slow(index)),
  ])
  clearInterval(timer)
  // An aborted call is settled a moment later.
  await sleep(5000)
  return result
}

if (import.meta.main) {
  // The parent passes the options as the only argument.
  const options = JSON.parse(process.argv[2] ?? '') as SoakLoadOptions
  process.stdout.write(JSON.stringify(await drive(options)))
}
