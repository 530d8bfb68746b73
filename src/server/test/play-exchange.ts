import { isDeepStrictEqual } from 'node:util'
import { bytesOf, type RecordedAnswer } from '../../../tools/traffic/recorded-answers.ts'
import type { RecordedBody } from '../relay/record/recording-file.ts'
import { aClient, aRoute, openCall, startScriptedUpstream, type RelaySetup } from './relay-setup.ts'

/** Differences when a file of `gatehouse record` is played through the whole relay. */
export interface Played {
  /** Upstream requests that differ from the recorded ones. */
  requests: string[]
  /** The response to the client, and the recorded one. */
  answer: { status: number; body: unknown }
  recorded: { status: number; body: unknown }
}

/**
 * Plays a recorded call: sends the client's request through the relay to an upstream that returns
 * the recorded bytes with the same interruptions. Ids and times, which differ each time, are
 * omitted.
 */
export async function playExchange(setup: RelaySetup, file: RecordedAnswer): Promise<Played> {
  const { exchange } = file
  if (exchange === undefined) throw new Error(`${file.name} holds no exchange`)
  const { client, upstream, answer } = exchange
  const requests: string[] = []
  let at = 0
  const server = await startScriptedUpstream((request, response, body) => {
    const recorded = upstream[at]
    at += 1
    if (!recorded?.response) {
      response.destroy()
      return
    }
    const asked = `${request.method} ${request.url}`
    const wanted = `${recorded.request.method} ${recorded.request.url.slice(ORIGIN.length)}`
    if (asked !== wanted) requests.push(`${asked} in place of ${wanted}`)
    if (!isDeepStrictEqual(readable(body), readable(bytesIn(recorded.request)))) {
      requests.push(`${asked} with ${body.toString()}`)
    }
    const type = recorded.response.headers['content-type']
    response.writeHead(recorded.response.status, type === undefined ? {} : { 'content-type': type })
    const bytes = recorded === upstream.at(-1) ? bytesOf(file) : bytesIn(recorded.response)
    let from = 0
    for (const [, size] of recorded.response.pieces) {
      response.write(bytes.subarray(from, from + size))
      from += size
    }
    if (recorded.isComplete) response.end()
    else setTimeout(() => response.destroy(), CUT_AFTER_MS)
  })
  try {
    const [first] = upstream
    if (first !== undefined) {
      const mapping = first.model === exchange.model ? {} : { [exchange.model]: first.model }
      await aRoute(setup, exchange.model, {
        type: first.channelType,
        base_url: server.url,
        model_mapping: JSON.stringify(mapping),
      })
    }
    const opened = await openCall(setup, await aClient(setup), bytesIn(client), {
      path: client.path,
      headers: { 'content-type': client.headers['content-type'] ?? 'application/json' },
    })
    await opened.ended
    return {
      requests,
      answer: { status: opened.status, body: readable(opened.bytes()) },
      recorded: { status: answer.status, body: readable(bytesIn(answer)) },
    }
  } finally {
    await server.close()
  }
}

const ORIGIN = 'https://upstream.example'
/** Delay so that data written before arrives. */
const CUT_AFTER_MS = 50

const bytesIn = ({ body = '', bodyBase64 }: RecordedBody): Buffer =>
  bodyBase64 === undefined ? Buffer.from(body) : Buffer.from(bodyBase64, 'base64')

/** Returns JSON or the lines of a stream, without the parts that differ each time. */
function readable(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  const timeless = text
    .replace(/"(?:created|created_at)":\s*[\d.]+/g, '"created":0')
    .replace(/"(id|item_id|response_id|request_id)":\s*"[^"]*"/g, '"$1":"…"')
    .replace(/: ?keep-alive\n\n/g, '')
  return timeless.split('\n').map((line) => line.trimEnd())
}
