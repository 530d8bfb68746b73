/**
 * Keeps many event streams open at the same time and measures the age of each chunk when it is
 * read.
 *
 * node bench/stream-clients.ts
 * '{"url":…,"headers":…,"body":…,"streams":2000,"opensPerSecond":1000}'
 *
 * The upstream writes its sending time into every chunk (`stamp`); all processes of a machine share
 * the monotonic clock.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './load.ts'
import { connect, requestBytes } from './raw-http.ts'
import { childResult } from './server-process.ts'

export type StreamOptions = {
  url: string
  headers: Record<string, string>
  body: string
  streams: number
  opensPerSecond: number
}

export type StreamResult = {
  /** Streams that ended with `[DONE]`. */
  complete: number
  broken: number
  /** The first response that was not such a stream. */
  firstFailure: string | null
  /** Maximum number of open streams. */
  concurrent: number
  /** Chunks read while all streams were open. */
  chunks: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

const OPENINGS_PER_SECOND_DIVISOR = 50
const FAILURE_CHARACTERS = 400

/** Runs the clients in a child process on the given core. */
export function runStreams(options: StreamOptions, core: number | null): Promise<StreamResult> {
  return childResult(import.meta.filename, options, core)
}

async function holdStreams(options: StreamOptions): Promise<StreamResult> {
  const url = new URL(options.url)
  const { headers, body } = options
  const request = requestBytes(url, {
    path: url.pathname,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const agesMs: number[] = []
  const result: Pick<StreamResult, 'complete' | 'broken' | 'firstFailure' | 'concurrent'> = {
    complete: 0,
    broken: 0,
    firstFailure: null,
    concurrent: 0,
  }
  let opened = 0
  let open = 0
  let areAllOpen = false
  const ended = Promise.withResolvers<void>()
  const end = (isComplete: boolean, what: string) => {
    if (isComplete) result.complete += 1
    else {
      result.broken += 1
      result.firstFailure ??= what.slice(0, FAILURE_CHARACTERS)
    }
    // The streams that opened first also end first; from here on the number decreases.
    areAllOpen = false
    open -= 1
    if (open === 0 && opened === options.streams) ended.resolve()
  }
  const startOne = () => {
    opened += 1
    open += 1
    result.concurrent = Math.max(result.concurrent, open)
    const connection = connect(url, {
      onData: (part) => {
        if (areAllOpen) noteAges(part, agesMs)
      },
      onResponse: ({ status, head, body: answer }) => {
        connection.close()
        end(status === 200 && answer.includes('[DONE]'), `${head}\n\n${answer.toString()}`)
      },
      onClose: () => end(false, 'the connection ended'),
    })
    connection.send(request)
  }
  while (opened < options.streams) {
    const batch = Math.ceil(options.opensPerSecond / OPENINGS_PER_SECOND_DIVISOR)
    for (let index = 0; index < batch && opened < options.streams; index++) startOne()
    await sleep(1000 / OPENINGS_PER_SECOND_DIVISOR)
  }
  areAllOpen = open === options.streams
  await ended.promise
  const sorted = Float64Array.from(agesMs).toSorted()
  return {
    ...result,
    chunks: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    maxMs: quantile(sorted, 1),
  }
}

/** A timestamp split across two reads is ignored: the pattern requires its closing quote. */
function noteAges(part: Buffer, agesMs: number[]) {
  const nowUs = Number(process.hrtime.bigint() / 1000n)
  for (const [, stamp] of part.toString('latin1').matchAll(/"content":"(\d{6,})"/g)) {
    agesMs.push((nowUs - Number(stamp)) / 1000)
  }
}

if (import.meta.main) {
  const options: StreamOptions = JSON.parse(process.argv[2] ?? '{}')
  process.stdout.write(JSON.stringify(await holdStreams(options)))
}
