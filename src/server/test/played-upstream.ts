import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Json } from './dialect-clients.ts'

/** A request received by the upstream. */
export interface PlayedCall {
  url: string
  body: Json
}

/** Its response: a JSON body, or the events of a stream. */
export interface PlayedAnswer {
  status?: number
  json?: unknown
  events?: readonly unknown[]
}

export interface PlayedUpstream {
  url: string
  /** Requests so far; empty at the start of a test. */
  calls: PlayedCall[]
  /** Set by the test. */
  play: (call: PlayedCall) => PlayedAnswer
}

/**
 * Starts an upstream for the surrounding tests that records requests and returns the responses set
 * by a test.
 */
export function usePlayedUpstream(): PlayedUpstream {
  const upstream: PlayedUpstream = { url: '', calls: [], play: () => ({ status: 500, json: {} }) }
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const call = {
        url: request.url ?? '',
        body: JSON.parse(Buffer.concat(parts).toString()) as Json,
      }
      upstream.calls.push(call)
      const { status = 200, json, events } = upstream.play(call)
      const type = events === undefined ? 'application/json' : 'text/event-stream'
      response.writeHead(status, { 'content-type': type })
      response.end(events === undefined ? JSON.stringify(json) : events.map(eventText).join(''))
    })
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // A server that listens on TCP has an address object.
    upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  beforeEach(() => {
    upstream.calls.length = 0
  })
  afterAll(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return upstream
}

function eventText(event: unknown): string {
  if (typeof event === 'string') return `data: ${event}\n\n`
  const { type } = event as { type?: string }
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`
}

/** Returns the chunks of a chat stream with these deltas. */
export const chatStream = (
  deltas: readonly Json[],
  { finish = 'stop', id = 'chatcmpl-1' }: { finish?: string; id?: string } = {},
): PlayedAnswer => ({
  events: [
    ...deltas.map((delta) => chunk(id, delta, null)),
    chunk(id, {}, finish),
    { id, choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } },
    '[DONE]',
  ],
})

const chunk = (id: string, delta: Json, finish_reason: string | null): Json => ({
  id,
  object: 'chat.completion.chunk',
  created: 1,
  choices: [{ index: 0, delta, finish_reason }],
})

/** Returns a complete chat completion. */
export const chatAnswer = (
  message: Json,
  finish_reason = 'stop',
  id = 'chatcmpl-1',
): PlayedAnswer => ({
  json: {
    id,
    object: 'chat.completion',
    created: 1,
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  },
})
