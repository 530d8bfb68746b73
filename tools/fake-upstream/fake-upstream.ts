/**
 * A deterministic model provider for tests, recordings and manual use.
 *
 * node tools/fake-upstream/fake-upstream.ts --port 4010 [--fast]
 *
 * README.md in this folder lists the endpoints and the words that control it.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bytesAnswer, errorAnswer, jsonAnswer, type Answer } from './answer.ts'
import { readCall, type Call, type Json } from './call.ts'
import { chatAnswer, completionAnswer } from './chat-answers.ts'
import { deliver } from './delivery.ts'
import { startFastUpstream } from './fast-upstream.ts'
import { anthropicAnswer, anthropicCountAnswer } from './dialects/anthropic-answers.ts'
import { azureProblem } from './openai/azure-checks.ts'
import { answerSocket, type SocketHooks } from './providers/spark/spark-socket.ts'
import {
  geminiAnswer,
  geminiCountAnswer,
  geminiEmbeddingAnswer,
} from './dialects/gemini-answers.ts'
import { providerEndpoints } from './providers/endpoints.ts'
import { errorIn, refusalAnswer } from './refusals.ts'
import {
  balanceAnswer,
  embeddingsAnswer,
  moderationsAnswer,
  modelsAnswer,
  signInAnswer,
} from './other-answers.ts'
import {
  imagesAnswer,
  rerankAnswer,
  speechAnswer,
  transcriptionAnswer,
} from './openai/media-answers.ts'
import { responsesAnswer, storedResponseAnswer } from './openai/responses-answers.ts'
import { chatProblem } from './openai/thinking-checks.ts'
import type { Script } from './script.ts'

/** A received request. The object stays live: `outcome` is set when the call ends. */
export type SeenCall = {
  method: string
  url: string
  headers: http.IncomingHttpHeaders
  /** The JSON body, or the first 2,000 characters of another text. */
  body: Json | string
  /** The body as received. */
  bytes: Buffer
  outcome: 'open' | 'answered' | 'client-gone'
  /** Status of the response; 0 without one. Set when the call ends. */
  status: number
  /** Words that `wordsFor` returned for it. */
  words: string
  /** `performance.now()` of this process when the call ended. */
  endedAtMs: number | null
}

export type FakeUpstream = {
  url: string
  port: number
  /** Calls since the last invocation, oldest first. */
  seen(): SeenCall[]
  close(): Promise<void>
}

const SEEN_MAX = 10_000
const SEEN_TEXT_MAX = 2000
const KEEP_ALIVE_MS = 60_000

/** Returns words for a path: faults that come and go while the address stays. */
export type WordsFor = (path: string) => string

type State = {
  seen: SeenCall[]
  isRemembering: boolean
  flakyCalls: Map<string, number>
  wordsFor: WordsFor
  script: () => Script | null
}

type Options = {
  port?: number
  wordsFor?: WordsFor
  /** The script that chat models currently follow. */
  script?: () => Script | null
}

export async function startFakeUpstream({
  port = 0,
  wordsFor = () => '',
  script = () => null,
}: Options = {}): Promise<FakeUpstream> {
  const state: State = { seen: [], isRemembering: true, flakyCalls: new Map(), wordsFor, script }
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      serve(state, request, response, Buffer.concat(parts)).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : new Error(String(error)))
      })
    })
    request.on('error', () => response.destroy())
  })
  const sockets = new Set<Duplex>()
  server.on('upgrade', (request, socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)))
    answerSocket(request, socket, socketHooks(state)).catch(() => socket.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  // A server that listens on TCP has an address object, not a pipe name.
  const { port: boundPort } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${boundPort}`,
    port: boundPort,
    seen: () => state.seen.splice(0),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
        for (const socket of sockets) socket.destroy()
      }),
  }
}

async function serve(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
) {
  const words = state.wordsFor(request.url ?? '')
  const call = { ...readCall(request, bytes, words), script: state.script() }
  const control = controlAnswer(state, call)
  if (control) return deliver(call, control, response)
  if (state.isRemembering) remember(state, response, { request, call, words })
  const { directives } = call
  if (directives.trouble === 'hang') return
  if (directives.delayMs > 0) await sleep(directives.delayMs)
  if (response.closed) return
  if (directives.trouble === 'fail-cut') {
    request.socket.destroy()
    return
  }
  return deliver(call, flakyAnswer(state, call) ?? troubledAnswer(call) ?? answerTo(call), response)
}

/** Control endpoints, for tests in other processes. */
function controlAnswer(state: State, call: Call): Answer | null {
  switch (call.path) {
    case '/__seen':
      return jsonAnswer(
        state.seen
          .splice(0)
          .map(({ method, url, headers, body }) => ({ method, url, headers, body })),
      )
    case '/__remember':
      state.isRemembering = call.query.get('on') === '1'
      return jsonAnswer({})
    case '/__reset':
      state.seen.length = 0
      state.flakyCalls.clear()
      return jsonAnswer({})
    default:
      return null
  }
}

type Arrived = { request: IncomingMessage; call: Call; words: string }

/** Records the call; the entry is completed when it ends. */
function remembered(state: State, { request, call, words }: Arrived): SeenCall {
  const entry: SeenCall = {
    method: call.method,
    url: request.url ?? '',
    headers: request.headers,
    body:
      Object.keys(call.json).length > 0 ? call.json : call.bytes.toString().slice(0, SEEN_TEXT_MAX),
    bytes: call.bytes,
    outcome: 'open',
    status: 0,
    words,
    endedAtMs: null,
  }
  state.seen.push(entry)
  if (state.seen.length > SEEN_MAX) state.seen.shift()
  return entry
}

function remember(state: State, response: ServerResponse, arrived: Arrived) {
  const entry = remembered(state, arrived)
  response.on('close', () => {
    entry.outcome = response.writableFinished ? 'answered' : 'client-gone'
    if (response.headersSent) entry.status = response.statusCode
    entry.endedAtMs = performance.now()
  })
}

/** Records calls over a WebSocket like all others. */
const socketHooks = (state: State): SocketHooks => ({
  words: state.wordsFor,
  asked(request, call) {
    const entry = remembered(state, { request, call, words: state.wordsFor(request.url ?? '') })
    return (outcome) => {
      entry.outcome = outcome
      entry.status = 101
      entry.endedAtMs = performance.now()
    }
  },
})

function flakyAnswer(state: State, call: Call): Answer | null {
  const { flakyCalls } = call.directives
  if (flakyCalls === 0) return null
  const failed = state.flakyCalls.get(call.flakyKey) ?? 0
  if (failed >= flakyCalls) return null
  state.flakyCalls.set(call.flakyKey, failed + 1)
  const message = `failing call ${failed + 1} of ${flakyCalls}`
  return errorIn(call, 500, { message, type: 'server_error', code: 'server_error' })
}

/** Responses that no endpoint would send. */
function troubledAnswer(call: Call): Answer | null {
  switch (call.directives.trouble) {
    case 'redirect':
      return jsonAnswer({}, 301, { location: '/__redirected/v1/chat/completions' })
    case 'html-200':
      return bytesAnswer('text/html', '<html>welcome to the proxy</html>')
    case 'error-200':
      return errorIn(call, 200, {
        message: 'The upstream refused, with a smile',
        type: 'server_error',
        code: 'refused_with_200',
      })
    default:
      return refusalAnswer(call)
  }
}

const endpoints: [suffix: RegExp, answer: (call: Call) => Answer][] = [
  ...providerEndpoints,
  [/\/chat\/completions$/, (call) => chatProblem(call) ?? chatAnswer(call)],
  [/\/completions$/, completionAnswer],
  [/\/embeddings$/, embeddingsAnswer],
  [/\/moderations$/, moderationsAnswer],
  [/\/responses$/, responsesAnswer],
  [/\/responses\/[^/]+(?:\/\w+)?$/, storedResponseAnswer],
  [/\/rerank$/, rerankAnswer],
  [/\/images\/(?:generations|edits|variations)$/, imagesAnswer],
  [/\/audio\/speech$/, speechAnswer],
  [/\/audio\/(?:transcriptions|translations)$/, transcriptionAnswer],
  [/\/models$/, () => modelsAnswer(null)],
  [/\/messages$/, anthropicAnswer],
  [/\/messages\/count_tokens$/, anthropicCountAnswer],
  [/:countTokens$/, geminiCountAnswer],
  [/:(?:embedContent|batchEmbedContents)$/, geminiEmbeddingAnswer],
  [/:(?:stream)?generateContent$/i, geminiAnswer],
]

function answerTo(call: Call): Answer {
  const endpoint = endpoints.find(([suffix]) => suffix.test(call.path))
  if (endpoint) return azureProblem(call) ?? endpoint[1](call)
  const modelId = call.method === 'GET' ? /\/models\/([^/:]+)$/.exec(call.path)?.[1] : undefined
  if (modelId !== undefined) return modelsAnswer(modelId)
  const error = { message: `no such path: ${call.path}`, type: 'not_found', code: null }
  return balanceAnswer(call) ?? signInAnswer(call) ?? errorAnswer(404, error)
}

async function startFromCommandLine(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '4010' },
      fast: { type: 'boolean', default: false },
    },
  })
  const start = values.fast ? startFastUpstream : startFakeUpstream
  const { url } = await start({ port: Number(values.port) })
  process.stdout.write(`upstream on ${url}\n`)
}

if (import.meta.main) {
  try {
    await startFromCommandLine()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const isTaken = 'code' in error && error.code === 'EADDRINUSE'
    process.stderr.write(isTaken ? '--port: another program has it\n' : `${error.message}\n`)
    process.exitCode = 1
  }
}
