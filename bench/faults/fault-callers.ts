/** Clients of a fault run: a constant rate of calls, regardless of the outcome of earlier ones. */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { speakers, type Said } from '../../src/server/test/dialect-clients.ts'

/** A call as its client saw it. */
export type Called = {
  requestId: string
  /** Milliseconds since the start of the run. */
  beganMs: number
  tookMs: number
  isStream: boolean
  /**
   * `broken`: a response that began and was not completed; `refused`: an error instead of a
   * response.
   */
  outcome: 'served' | 'broken' | 'refused' | 'lost'
  status: number
  /** Received text in place of a response; empty if it was served. */
  received: string
}

export type CallOptions = {
  url: string
  key: string
  model: string
  rate: number
  seconds: number
  /** Called about every ten milliseconds with the time since the start. */
  onTick(elapsedMs: number): void
}

const ANSWER = 'The answer is forty-two.'
const TICK_MS = 10
/** A machine that cannot keep up is not overloaded further: calls wait until others have ended. */
const UNDER_WAY_MAX = 500
const CALL_TIMEOUT_MS = 60_000
const RECEIVED_CHARACTERS = 300
const dialects = ['openai', 'anthropic', 'gemini'] as const

/** Calls made, and calls skipped because too many others were in progress. */
export type CallsMade = { calls: Called[]; skipped: number }

/** Makes the calls, alternating dialects and kinds; resolves after the last one has ended. */
export async function makeCalls(options: CallOptions): Promise<CallsMade> {
  const { rate, seconds, onTick } = options
  const agent = new http.Agent({ keepAlive: true })
  const startMs = performance.now()
  const calls: Promise<Called>[] = []
  let skipped = 0
  let underWay = 0
  for (let elapsedMs = 0; elapsedMs < seconds * 1000; elapsedMs = performance.now() - startMs) {
    onTick(elapsedMs)
    const due = Math.ceil((elapsedMs / 1000) * rate)
    // Delayed calls are skipped rather than sent in a burst.
    skipped += Math.max(0, due - calls.length - skipped - (UNDER_WAY_MAX - underWay))
    while (calls.length + skipped < due) {
      underWay += 1
      const call = makeCall(options, calls.length, { agent, startMs })
      calls.push(call.finally(() => (underWay -= 1)))
    }
    await sleep(TICK_MS)
  }
  const made = await Promise.all(calls)
  agent.destroy()
  return { calls: made, skipped }
}

function makeCall(
  { url, key, model }: CallOptions,
  index: number,
  { agent, startMs }: { agent: http.Agent; startMs: number },
): Promise<Called> {
  const speaker = speakers[dialects[index % dialects.length] ?? 'openai']
  const isStream = Math.floor(index / dialects.length) % 2 === 1
  const body = Buffer.from(JSON.stringify(speaker.body(model, {}, isStream)))
  const beganMs = performance.now() - startMs
  return new Promise((resolve) => {
    const end = (
      outcome: Called['outcome'],
      { status = 0, requestId = '', received = '' },
    ): void => {
      const tookMs = performance.now() - startMs - beganMs
      resolve({ requestId, beganMs, tookMs, isStream, outcome, status, received })
    }
    const sent = http.request(url + speaker.path(model, isStream), {
      method: 'POST',
      agent,
      timeout: CALL_TIMEOUT_MS,
      headers: {
        ...speaker.headers({ key: key.replace(/^sk-/, '') }),
        'content-type': 'application/json',
        'content-length': body.length,
      },
    })
    sent.on('timeout', () => sent.destroy())
    sent.on('error', (error) => end('lost', { received: String(error) }))
    sent.on('response', (response) => {
      const parts: Buffer[] = []
      const status = response.statusCode ?? 0
      const requestId = String(response.headers['x-oneapi-request-id'])
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', () => {})
      response.on('close', () => {
        const text = Buffer.concat(parts).toString()
        const received = text.slice(-RECEIVED_CHARACTERS)
        if (status !== 200) return end('refused', { status, requestId, received })
        const isWhole = response.complete && isAnswer(speaker, text, isStream)
        if (isWhole) end('served', { status, requestId })
        else end('broken', { status, requestId, received })
      })
    })
    sent.end(body)
  })
}

function isAnswer(speaker: (typeof speakers)['openai'], text: string, isStream: boolean): boolean {
  try {
    const received: Said & { isComplete?: boolean } = isStream
      ? speaker.streamed(text)
      : speaker.whole(JSON.parse(text))
    return received.text === ANSWER && received.isComplete !== false
  } catch {
    return false
  }
}
