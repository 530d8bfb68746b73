import os from 'node:os'
import { parseArgs } from 'node:util'
import {
  textsOf,
  type ChatAnswer,
  type ChatEvent,
} from '../../src/server/relay/protocols/canonical/chat-answer.ts'
import {
  plainRequest,
  type ChatRequest,
  type DialectName,
} from '../../src/server/relay/protocols/canonical/chat-request.ts'
import {
  answerOf,
  withEveryFinish,
} from '../../src/server/relay/protocols/canonical/gathered-answer.ts'
import { countedUsage } from '../../src/server/relay/protocols/canonical/token-usage.ts'
import { NO_CHANGES } from '../../src/server/relay/protocols/dialect/answer-changes.ts'
import type { ClientDialect } from '../../src/server/relay/protocols/dialect/dialect.ts'
import { FollowedStream } from '../../src/server/relay/protocols/dialect/followed-stream.ts'
import { dialects } from '../../src/server/relay/conversion/dialects.ts'
import {
  convertedOutput,
  splicedOutput,
} from '../../src/server/relay/protocols/dialect/stream-output.ts'
import { scanBody } from '../../src/server/relay/json/body-scan.ts'
import { splice } from '../../src/server/relay/json/body-splice.ts'
import { parseJson, recordOr, type JsonRecord } from '../../src/server/relay/json/json-value.ts'
import { SseReader } from '../../src/server/relay/transport/wire.ts'
import { responsesClient } from '../../src/server/relay/protocols/openai-responses/client.ts'
import { responseFigures } from '../../src/server/relay/surfaces/responses.ts'
import { describeMachine, machineClock, markdownTable, median, publish } from '../report.ts'

/**
 * npm run bench -- dialects [--rounds 7] [--calls 300]
 *
 * Cost of converting between dialects: processor time of one call's request and response between
 * the two sockets, converted, compared with the same call spliced. Everything else is equal for
 * both and left out.
 */
export function main(args: string[]): void {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '7' },
      calls: { type: 'string', default: '300' },
    },
  })
  const machine = machineClock()
  const [loadBefore = 0] = os.loadavg()
  const measured = PAIRS.map((pair) => ({ ...pair, whole: [0], streamed: [0] }))
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    // Pairs alternate, so that other load on the machine affects all of them; the first round warms
    // up.
    for (const pair of measured) {
      const whole = microsecondsOf(wholeCall(pair), Number(values.calls))
      const streamed = microsecondsOf(streamedCall(pair), Number(values.calls) / 10)
      if (round === 0) [pair.whole, pair.streamed] = [[], []]
      else {
        pair.whole.push(whole)
        pair.streamed.push(streamed)
      }
    }
  }
  const rows = measured.map(({ client, upstream, whole, streamed }) => [
    client,
    upstream === null ? '(spliced)' : upstream,
    median(whole).toFixed(0),
    (median(streamed) / CHUNKS).toFixed(2),
  ])
  const columns = ['client', 'upstream', 'whole call, µs', 'each chunk of a stream, µs']
  const text = [
    describeMachine(machine, loadBefore),
    `request ${bytesOf(SENT.openai).length} bytes, answer ${CHUNKS} chunks`,
    '',
    markdownTable({ columns, rows }),
  ].join('\n')
  publish('dialects', text, measured)
}

type ClientName = DialectName | 'responses'

interface Pair {
  client: ClientName
  /** Null if it is the client's dialect, so that bytes are passed through. */
  upstream: DialectName | null
}

const CLIENTS: readonly ClientName[] = ['openai', 'responses', 'anthropic', 'gemini']
const UPSTREAMS: readonly DialectName[] = ['openai', 'anthropic', 'gemini']
const PAIRS: readonly Pair[] = CLIENTS.flatMap((client) => [
  { client, upstream: null },
  ...UPSTREAMS.filter((upstream) => upstream !== client).map((upstream) => ({ client, upstream })),
])

const CHUNKS = 200
const WORDS = 'The weather in Paris is mild today, with a light wind from the south-west. '

const textPart = (text: string) => ({ kind: 'text' as const, text, cache: null })

/** A conversation of ordinary length with a tool, its call and its result. */
const REQUEST: ChatRequest = {
  ...plainRequest([
    { role: 'user', parts: [textPart(WORDS.repeat(4))] },
    {
      role: 'assistant',
      parts: [
        {
          kind: 'toolCall',
          id: 'call_1',
          name: 'get_weather',
          argumentsJson: '{"location":"Paris"}',
          signature: null,
          cache: null,
        },
      ],
    },
    {
      role: 'user',
      parts: [
        {
          kind: 'toolResult',
          callId: 'call_1',
          name: 'get_weather',
          parts: [textPart('{"temperature":14}')],
          isError: false,
          cache: null,
        },
        textPart(WORDS.repeat(4)),
      ],
    },
  ]),
  system: [textPart(WORDS.repeat(8))],
  tools: [
    {
      name: 'get_weather',
      description: 'What the weather is like somewhere',
      schema: {
        type: 'object',
        properties: { location: { type: 'string', description: 'City and country' } },
        required: ['location'],
      },
      isStrict: null,
      cache: null,
    },
  ],
  toolChoice: { kind: 'auto' },
  maxCompletionTokens: 1000,
  temperature: 0.5,
}

const USED = countedUsage(700, CHUNKS)
const ANSWER: ChatAnswer = {
  id: 'answer-1',
  choices: [
    {
      parts: [{ kind: 'text', text: WORDS.repeat(12) }],
      finish: { reason: 'stop', stopSequence: null },
    },
  ],
  usage: USED,
}
const EVENTS: readonly ChatEvent[] = [
  { kind: 'start', id: 'answer-1' },
  ...Array.from({ length: CHUNKS }, (_, index) => ({
    kind: 'text' as const,
    choice: 0,
    text: index % 2 === 0 ? ' weather' : ' 天气',
  })),
  { kind: 'finish', choice: 0, finish: { reason: 'stop', stopSequence: null } },
]

const HEAD = { id: 'resp_1', model: 'asked', nowSeconds: 1, wantsUsage: true }
const bytesOf = (value: JsonRecord): Buffer => Buffer.from(JSON.stringify(value))

const to = { model: 'sent', isStream: false, asksForUsage: false }
const RESPONSES_REQUEST: JsonRecord = {
  model: 'asked',
  instructions: WORDS.repeat(8),
  input: [
    { role: 'user', content: WORDS.repeat(4) },
    {
      type: 'function_call',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"location":"Paris"}',
    },
    { type: 'function_call_output', call_id: 'call_1', output: '{"temperature":14}' },
    { role: 'user', content: WORDS.repeat(4) },
  ],
  tools: [{ type: 'function', name: 'get_weather', parameters: REQUEST.tools[0]?.schema ?? {} }],
  max_output_tokens: 1000,
  temperature: 0.5,
}
const SENT: Readonly<Record<ClientName, JsonRecord>> = {
  openai: dialects.openai.writeRequest(REQUEST, to),
  anthropic: dialects.anthropic.writeRequest(REQUEST, to),
  gemini: dialects.gemini.writeRequest(REQUEST, to),
  responses: RESPONSES_REQUEST,
}

const speaker = (name: ClientName, body: JsonRecord): ClientDialect =>
  name === 'responses' ? responsesClient(body) : dialects[name]

/** The reader for a response that the relay passes through. */
function reading(name: ClientName) {
  if (name !== 'responses') return dialects[name]
  const body = scanBody(bytesOf(SENT.responses))
  if (!body.ok) throw new Error(body.reason)
  const figures = responseFigures(body)
  const metering = 'field' in figures ? undefined : figures.searched?.('m', 'm')
  if (metering === undefined) throw new Error('no figures')
  return metering.reading
}

/** A non-streaming call from the client's request bytes to the client's response bytes. */
function wholeCall({ client, upstream }: Pair): () => void {
  const sent = bytesOf(SENT[client])
  if (upstream === null) {
    const answer = bytesOf(speaker(client, SENT[client]).writeAnswer(ANSWER, HEAD))
    const reader = reading(client)
    return () => {
      const body = scanBody(sent)
      if (!body.ok) throw new Error(body.reason)
      splice(body, [{ set: 'model', json: '"sent"' }])
      if (reader.readAnswer(answer).kind !== 'ok') throw new Error('no answer')
    }
  }
  const other = dialects[upstream]
  const answer = bytesOf(other.writeAnswer(ANSWER, HEAD))
  return () => {
    if (!scanBody(sent).ok) throw new Error('no body')
    const value = recordOr(parseJson(sent.toString('utf8')))
    const own = speaker(client, value)
    bytesOf(other.writeRequest(own.readRequest(value), to))
    const read = other.readAnswer(answer)
    if (read.kind !== 'ok') throw new Error('no answer')
    bytesOf(own.writeAnswer(answerOf(withEveryFinish(read.events()), USED), HEAD))
  }
}

/** A stream from the upstream's bytes to the client's, one event per chunk. */
function streamedCall({ client, upstream }: Pair): () => void {
  const own = speaker(client, SENT[client])
  const writer = (upstream === null ? own : dialects[upstream]).streamWriter(HEAD)
  const pieces = [...EVENTS.flatMap((event) => writer.write(event)), ...writer.end(USED)].map(
    ({ name, data }) =>
      Buffer.from(`${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`),
  )
  return () => {
    const output =
      upstream === null
        ? splicedOutput(own, { framing: 'events', wantsUsage: true })
        : convertedOutput(own, NO_CHANGES, { framing: 'events', head: HEAD })
    const answers = upstream === null ? reading(client) : dialects[upstream]
    const stream = new FollowedStream(answers.readStream(), upstream !== null)
    const reader = new SseReader()
    for (const piece of pieces) {
      for (const event of reader.push(piece)) {
        const read = stream.read(event)
        textsOf(read.events)
        if (read.kind !== 'done') output.take(event, read)
      }
    }
    output.end(USED, stream.end())
  }
}

/** Processor time per call, which other load on the machine hardly affects. */
function microsecondsOf(call: () => void, times: number): number {
  const before = process.cpuUsage()
  for (let time = 0; time < times; time += 1) call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}
