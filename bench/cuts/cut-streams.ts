/**
 * Streams that are cut at a random byte, by the client or the upstream. The charge must be for what
 * was produced: between what the client has read and what the upstream has sent, with a tolerance
 * of 1 % or 16 tokens; every stream is charged once, and the books balance.
 */
import { randomInt } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import {
  createGatehouse,
  ROOT_PASSWORD,
  type BilledCall,
  type DatabaseKind,
} from '../gatehouse-server.ts'
import { createChannel, createToken, giveQuota, signIn } from '../management-client.ts'
import { describeMachine, machineClock, markdownTable, publish } from '../report.ts'

export type CutReport = {
  database: DatabaseKind
  streams: number
  /** Cut by the client, cut by the upstream, and complete before the cut. */
  byClient: number
  byUpstream: number
  whole: number
  /** Largest distance of a charge from the range between read and sent, in tokens. */
  worstTokens: number
  seconds: number
  problems: string[]
}

const MODEL = 'gpt-4o-mini'
const PLENTY_OF_QUOTA = 1_000_000_000_000
const CHUNKS = 60
const WORDS_PER_CHUNK = 3
const CHUNK_EVERY_MS = 2
/** About the size of a complete response. */
const CUT_BYTES_MAX = 11_000
const TOLERATED_TOKENS = 16
const TOLERATED_SHARE = 0.01
const AT_ONCE = 48
const PROBLEMS_SHOWN = 20
const SETTLING_MS = 15_000

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      streams: { type: 'string', default: '100000' },
      database: { type: 'string', default: 'sqlite' },
    },
  })
  const clock = machineClock()
  const database: DatabaseKind = values.database === 'postgres' ? 'postgres' : 'sqlite'
  const report = await cutStreams({ streams: Number(values.streams), database })
  const machine = describeMachine(clock, 0)
  publish('cuts', describe(report, machine), { machine, report })
  if (report.problems.length > 0) process.exitCode = 1
}

/** The end that cut the stream; `refused`: cut by the upstream before the first byte, which is free. */
type CutBy = 'client' | 'upstream' | 'none' | 'refused'

/** One stream as client, gateway and upstream saw it. */
type Cut = { requestId: string; by: CutBy; index: number; read: number }

export async function cutStreams(options: {
  streams: number
  database: DatabaseKind
}): Promise<CutReport> {
  const { streams, database } = options
  const upstream = await startWordUpstream()
  const gatehouse = await createGatehouse({ database })
  const server = await gatehouse.start()
  const begunMs = performance.now()
  try {
    const root = await signIn({ url: gatehouse.url, username: 'root', password: ROOT_PASSWORD })
    await createChannel(root, { name: 'wordy', base_url: upstream.url, models: MODEL })
    await giveQuota(root, 'root', PLENTY_OF_QUOTA)
    const key = await createToken(root, { name: 'cuts', remain_quota: 0, unlimited_quota: true })
    const cuts: Cut[] = []
    let next = 0
    const work = async (): Promise<void> => {
      while (next < streams) {
        const index = next++
        cuts.push(await cutOne(gatehouse.url, key, index))
      }
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, streams) }, work))
    const charged = cuts.filter(({ by }) => by !== 'refused').length
    const billed = await settled(() => gatehouse.billedCalls(), charged)
    const seconds = (performance.now() - begunMs) / 1000
    await server.stop()
    const books = await gatehouse.reconcile()
    const report = { ...judge(cuts, billed, upstream), database, seconds }
    if (books.exitCode !== 0) report.problems.push(books.output)
    return report
  } finally {
    await server.stop('SIGKILL')
    await gatehouse.remove()
    await upstream.close()
  }
}

/** Waits until all rows exist: an aborted call is settled a moment later. */
async function settled(read: () => Promise<BilledCall[]>, count: number): Promise<BilledCall[]> {
  const end = performance.now() + SETTLING_MS
  for (;;) {
    const rows = await read()
    if (rows.length >= count || performance.now() > end) return rows
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function judge(cuts: Cut[], billed: BilledCall[], upstream: WordUpstream) {
  const problems: string[] = []
  const rows = Map.groupBy(billed, ({ requestId }) => requestId)
  let worstTokens = 0
  for (const { requestId, by, index, read } of cuts) {
    // The upstream continued until it noticed the cut.
    const sent = upstream.sent(index)
    const own = rows.get(requestId) ?? []
    if (by === 'refused' && own.length === 0) continue
    const [row] = own
    if (row === undefined || own.length > 1) {
      problems.push(`${requestId}: charged ${own.length} times`)
      continue
    }
    const charged = row.completionTokens
    const outside = Math.max(0, read - charged, charged - sent)
    worstTokens = Math.max(worstTokens, outside)
    if (outside > Math.max(TOLERATED_TOKENS, sent * TOLERATED_SHARE)) {
      problems.push(`${requestId} (${by}): read ${read}, sent ${sent}, charged ${charged}`)
    }
  }
  const count = (by: CutBy) => cuts.filter((cut) => cut.by === by).length
  const answered = cuts.length - count('refused')
  if (billed.length !== answered) problems.push(`${answered} answers, ${billed.length} charges`)
  return {
    streams: cuts.length,
    byClient: count('client'),
    byUpstream: count('upstream'),
    whole: count('none'),
    worstTokens,
    problems: problems.slice(0, PROBLEMS_SHOWN),
  }
}

/** Requests a stream that one end cuts; every third one by the upstream. */
function cutOne(url: string, key: string, index: number): Promise<Cut> {
  const { promise, resolve, reject } = Promise.withResolvers<Cut>()
  const isByUpstream = index % 3 === 0
  const cutBytes = 1 + randomInt(CUT_BYTES_MAX)
  const content = `${index} ${isByUpstream ? cutBytes : 0}`
  const body = JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content }] })
  const sent = http.request(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  let hasAnswer = false
  sent.on('error', (error) => {
    if (!hasAnswer) reject(error)
  })
  sent.on('response', (response) => {
    hasAnswer = true
    const parts: Buffer[] = []
    let length = 0
    let isCut = false
    response.on('data', (part: Buffer) => {
      const left = cutBytes - length
      parts.push(isByUpstream ? part : part.subarray(0, Math.max(0, left)))
      length += part.length
      if (!isByUpstream && length >= cutBytes) {
        isCut = true
        sent.destroy()
      }
    })
    response.on('error', () => {})
    response.on('close', () => {
      const text = Buffer.concat(parts).toString()
      const end = isCut ? 'client' : text.includes('[DONE]') ? 'none' : 'upstream'
      resolve({
        requestId: String(response.headers['x-oneapi-request-id']),
        by: response.statusCode === 200 ? end : 'refused',
        read: wordsIn(text.slice(0, text.lastIndexOf('\n\n') + 1)),
        index,
      })
    })
  })
  sent.end(body)
  return promise
}

/** Each word is one token. */
const wordsIn = (text: string): number => text.split(' word').length - 1

type WordUpstream = {
  url: string
  /** Words sent of a stream, in complete events only. */
  sent(index: number): number
  close(): Promise<void>
}

/**
 * An upstream that streams words without reporting usage, and cuts the stream at a requested byte.
 */
async function startWordUpstream(): Promise<WordUpstream> {
  const sent = new Map<number, number>()
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      // Written by this benchmark.
      const asked = JSON.parse(Buffer.concat(parts).toString()) as {
        messages: { content: string }[]
      }
      const [index = 0, cutBytes = 0] = (asked.messages[0]?.content ?? '').split(' ').map(Number)
      sendWords(response, { cutBytes, onSent: (words) => sent.set(index, words) })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    sent: (index) => sent.get(index) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function sendWords(
  response: http.ServerResponse,
  { cutBytes, onSent }: { cutBytes: number; onSent(words: number): void },
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let chunks = 0
  let length = 0
  const timer = setInterval(() => {
    const event = chunks < CHUNKS ? wordEvent() : END
    const left = cutBytes === 0 ? event.length : cutBytes - length
    response.write(event.slice(0, left))
    length += event.length
    if (chunks < CHUNKS && left >= event.length) onSent((chunks + 1) * WORDS_PER_CHUNK)
    chunks += 1
    if (left < event.length) {
      clearInterval(timer)
      // Destroys the socket after what was written has been sent.
      setImmediate(() => response.socket?.destroy())
    } else if (chunks > CHUNKS) {
      clearInterval(timer)
      response.end()
    }
  }, CHUNK_EVERY_MS)
  response.on('close', () => clearInterval(timer))
}

const wordEvent = (): string => {
  const delta = { content: ' word'.repeat(WORDS_PER_CHUNK) }
  const choices = [{ index: 0, delta, finish_reason: null }]
  const head = { id: 'chatcmpl-cut', object: 'chat.completion.chunk', created: 0, model: MODEL }
  return `data: ${JSON.stringify({ ...head, choices })}\n\n`
}
const END = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`

function describe(report: CutReport, machine: string): string {
  const { database, streams, byClient, byUpstream, whole, worstTokens, seconds, problems } = report
  const table = markdownTable({
    columns: [
      'database',
      'streams',
      'cut by client',
      'by upstream',
      'whole',
      'furthest off',
      'problems',
    ],
    rows: [
      [
        database,
        streams,
        byClient,
        byUpstream,
        whole,
        `${worstTokens} tokens`,
        problems.length,
      ].map(String),
    ],
  })
  const found = problems.map((problem) => `- ${problem}`).join('\n')
  return `# Streams cut at a random byte\n\n${machine}; ${seconds.toFixed(0)} s\n\n${table}\n${found}`
}
