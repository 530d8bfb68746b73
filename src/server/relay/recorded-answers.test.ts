import { describe, expect, test } from 'vitest'
import {
  bytesOf,
  definedUsage,
  recordedAnswers,
  type MeantChoice,
  type MeantUsage,
  type RecordedAnswer,
  type RecordedApi,
} from '../../../tools/traffic/recorded-answers.ts'
import { speakers, type Said } from '../test/dialect-clients.ts'
import { responsesSpeaker } from '../test/responses-client.ts'
import type { ChatAnswer, ChatEvent } from './protocols/canonical/chat-answer.ts'
import type { UpstreamName } from '../test/upstream-dialects.ts'
import { answerOf, withEveryFinish } from './protocols/canonical/gathered-answer.ts'
import type { TokenUsage, UsageReading } from './protocols/canonical/token-usage.ts'
import { upstreamDialects } from '../test/upstream-dialects.ts'
import { dialects } from './conversion/dialects.ts'
import { type AnswerChanges, toolsAsAsked } from './protocols/dialect/answer-changes.ts'
import type { ClientDialect, StreamGatherer, UpstreamDialect } from './protocols/dialect/dialect.ts'
import { FollowedStream } from './protocols/dialect/followed-stream.ts'
import { Gathering } from './call/respond/stream-as-json.ts'
import { converseWire } from './vendors/bedrock/wires.ts'
import { responsesClient } from './protocols/openai-responses/client.ts'
import { serverSentEvents } from './transport/wire.ts'

/**
 * Checks what the readers extract from recorded vendor responses against an independent reader, and
 * what clients of every dialect receive. `RECORDED_ANSWERS` names another folder of recordings.
 */
const folder = process.env['RECORDED_ANSWERS'] || undefined
const isOtherFolder = folder !== undefined
const recordings = recordedAnswers(folder)

const SPOKEN: Readonly<Partial<Record<RecordedApi, UpstreamName>>> = {
  chat: 'openai',
  responses: 'responses',
  messages: 'anthropic',
  generateContent: 'gemini',
  converse: 'converse',
  cohere: 'cohere',
}

/** Gemini's finish reasons without a response, which become an error. */
const NO_ANSWER = /^\?(?:MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|OTHER)/

/** Comparisons that are skipped, and why. */
const EXCEPTIONS: readonly [why: string, applies: (recorded: RecordedAnswer) => boolean][] = [
  ['no answer of a model', ({ meta }) => meta === null || meta.choices.length === 0],
  ['the SDK cannot read it either', ({ meta }) => Boolean(meta?.unreadable ?? meta?.problems)],
  [
    'made by hand: no messageStart, or metadata before messageStop',
    ({ name }) => /^bedrock\/v\.amazon-bedrock-(?:json|tool)-.*\.stream$/.test(name),
  ],
  [
    'arguments in parts, which only clients of Gemini’s own dialect can ask for',
    ({ meta }) => meta?.choices.some(({ tools }) => tools.some(({ partial }) => partial)) === true,
  ],
]

const compared = recordings.filter(
  (recorded) =>
    recorded.status === 200 &&
    SPOKEN[recorded.api] !== undefined &&
    !EXCEPTIONS.some(([, applies]) => applies(recorded)),
)
const answered = compared.filter(({ meta }) => !NO_ANSWER.test(meta?.choices[0]?.finish ?? ''))

interface Read {
  answer: ChatAnswer
  events: readonly ChatEvent[]
  reading: UsageReading
}

const NO_TOOLS_ASKED = { messages: [], tools: [], parallelTools: null }

const upstreamOf = (recorded: RecordedAnswer): UpstreamDialect => {
  const name = SPOKEN[recorded.api]
  if (name === undefined) throw new Error(`${recorded.api} is no chat`)
  return upstreamDialects[name]
}

/** As the relay changes it for a client, which settles calls and reasons to stop. */
const changesFor = (upstream: UpstreamDialect): AnswerChanges =>
  toolsAsAsked(upstream, NO_TOOLS_ASKED, 'request-1')

const wireOf = ({ api }: RecordedAnswer) => (api === 'converse' ? converseWire : serverSentEvents)

/** Cuts bytes where networks would, which respects nothing. */
function pieces(bytes: Buffer): Buffer[] {
  const size = Math.max(64, Math.ceil(bytes.length / 7))
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size))
}

function readWhole(upstream: UpstreamDialect, bytes: Buffer): Read {
  const reading = upstream.readAnswer(bytes)
  if (reading.kind !== 'ok') throw new Error(`it is ${reading.kind}`)
  if (reading.failure !== undefined) throw new Error('it is error')
  const events = changesFor(upstream).events(withEveryFinish(reading.events()))
  return { answer: answerOf(events, null), events, reading: reading.usage }
}

function readStream(upstream: UpstreamDialect, recorded: RecordedAnswer): Read {
  const wire = wireOf(recorded).reader()
  const stream = new FollowedStream(upstream.readStream(), true)
  const changes = changesFor(upstream)
  const sent = pieces(bytesOf(recorded)).flatMap((piece) => wire.push(piece))
  const last = wire.end()
  const events = [...sent, ...(last === null ? [] : [last])].flatMap((event) => {
    if (event.data === null || stream.isOver) return []
    return changes.events(stream.read(event).events)
  })
  events.push(...changes.events(stream.end()))
  const outcome = stream.outcome('end')
  if (outcome !== 'clean' && outcome !== 'usage-missing') throw new Error(`it is ${outcome}`)
  return { answer: answerOf(events, null), events, reading: stream.usage }
}

const read = (recorded: RecordedAnswer): Read =>
  recorded.stream
    ? readStream(upstreamOf(recorded), recorded)
    : readWhole(upstreamOf(recorded), bytesOf(recorded))

const FINISHES = { stop: 'stop', length: 'length', toolCalls: 'tool', filtered: 'filter' } as const

/** In the words of the recordings. */
function meantBy({ parts, finish }: ChatAnswer['choices'][number]): MeantChoice {
  const textOf = (kind: string): string =>
    parts.map((part) => (part.kind === kind && 'text' in part ? part.text : '')).join('')
  return {
    text: textOf('text'),
    refusal: textOf('refusal'),
    reasoning: textOf('thinking'),
    tools: parts.flatMap((part) =>
      part.kind === 'toolCall'
        ? [{ name: part.name, args: JSON.parse(part.argumentsJson) as unknown }]
        : [],
    ),
    finish: FINISHES[finish.reason],
  }
}

/**
 * Normalizes a choice for the comparison: without whitespace between thoughts, which clients join
 * differently, without code fences of Gemini's executed code, and without a missing finish reason.
 */
function comparable(choice: MeantChoice, recorded: RecordedAnswer): MeantChoice {
  const expected = recorded.meta?.choices[0]?.finish ?? '?'
  const isCode = recorded.meta?.others?.some((kind) => /[cC]ode|inlineData/.test(kind)) === true
  const fence = /\n```\n[\s\S]*?\n```\n|!\[image\]\(data:[^)]*\)/g
  const hasCalls = choice.tools.length > 0
  return {
    ...choice,
    text: isCode ? choice.text.replaceAll(fence, '') : choice.text,
    reasoning: choice.reasoning.replaceAll(/\s+/g, ''),
    // Some upstreams report `stop` or no reason after calls; clients receive the reason for calls.
    finish: expected.startsWith('?') || (expected === 'stop' && hasCalls) ? '' : choice.finish,
  }
}

const figuresOf = (usage: TokenUsage) => ({
  prompt: usage.promptTokens,
  completion: usage.completionTokens,
  cached: usage.cachedTokens,
  cacheWrite: usage.cacheWriteTokens + usage.cacheWriteHourTokens,
  reasoning: usage.reasoningTokens,
})

/**
 * Expected token counts. `promptRead` is the prompt count that our reader returned; for Gemini it
 * may omit tokens that are free.
 */
function expectedFigures(recorded: RecordedAnswer, promptRead: number) {
  const usage = definedUsage(recorded)
  if (usage === null) return null
  const { promptAlone, prompt, completion, cached, cacheWrite, reasoning } = usage
  const counted = promptRead === promptAlone ? promptAlone : prompt
  return { prompt: counted, completion, cached, cacheWrite, reasoning }
}

function expectMeant({ answer }: Pick<Read, 'answer'>, recorded: RecordedAnswer): void {
  const expected = recorded.meta?.choices ?? []
  const found = answer.choices.map((choice) => comparable(meantBy(choice), recorded))
  expect(found).toEqual(expected.map((choice) => comparable(choice, recorded)))
}

const providers = [...new Set(answered.map(({ provider }) => provider))]

/** Names of a provider's recordings that fail a check, with the reason. */
function failing(provider: string, check: (recorded: RecordedAnswer) => void): string[] {
  return answered.flatMap((recorded) => {
    if (recorded.provider !== provider) return []
    try {
      check(recorded)
      return []
    } catch (error) {
      return [`${recorded.name}: ${reasonOf(error)}`]
    }
  })
}

/** Known differences. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, actual, expected }: Error & { actual?: unknown; expected?: unknown } = error
  if (expected === undefined) return message
  return `${message}: got ${JSON.stringify(actual)}, recorded ${JSON.stringify(expected)}`
}

describe.each(providers)('answers of %s', (provider) => {
  test('are read as they were meant', () => {
    expect(failing(provider, (recorded) => expectMeant(read(recorded), recorded))).toEqual([])
  })

  test('have used what the provider says, each token once', () => {
    expect(failing(provider, expectUsed)).toEqual([])
  })

  test('mean the same when their stream is gathered', () => {
    const check = (recorded: RecordedAnswer): void => {
      if (recorded.stream) expectGathered(recorded)
    }
    expect(failing(provider, check)).toEqual([])
  })

  test('are sent to clients of every dialect, with and without streaming', () => {
    expect(failing(provider, expectTold)).toEqual([])
  })
})

function expectUsed(recorded: RecordedAnswer): void {
  const { usage } = read(recorded).reading
  expect(usage && figuresOf(usage)).toEqual(expectedFigures(recorded, usage?.promptTokens ?? 0))
}

function expectGathered(recorded: RecordedAnswer): void {
  const upstream = upstreamOf(recorded)
  const stream = new FollowedStream(upstream.readStream(), true)
  const gathering = new Gathering(wireOf(recorded).reader(), stream, gathererOf(recorded))
  for (const piece of pieces(bytesOf(recorded))) gathering.push(piece)
  const gathered = gathering.end()
  if (gathered.kind !== 'whole') throw new Error(`it is ${gathered.kind}`)
  const events = changesFor(upstream).events(gathered.events)
  expectMeant({ answer: answerOf(events, null) }, recorded)
  if (gathered.json === null) return
  expectMeant(readWhole(upstream, Buffer.from(JSON.stringify(gathered.json))), recorded)
}

/** The response as a client of the upstream's dialect receives it. */
function gathererOf(recorded: RecordedAnswer): StreamGatherer | null {
  const { name } = upstreamOf(recorded)
  if (name === 'responses') return responsesClient({}).gatherer()
  return name === 'openai' || name === 'anthropic' || name === 'gemini'
    ? dialects[name].gatherer()
    : null
}

function expectTold(recorded: RecordedAnswer): void {
  const { answer, events, reading } = read(recorded)
  const usage = reading.usage ?? NO_TOKENS
  const expected = { ...saidOf(recorded), prompt: usage.promptTokens }
  for (const [name, client, speaker] of clients()) {
    const whole = speaker.whole(client.writeAnswer({ ...answer, usage }, HEAD))
    expect(comparableSaid(whole, recorded), `${name}, whole`).toEqual(expected)
    const streamed = speaker.streamed(writtenBy(client, events, usage))
    expect(comparableSaid(streamed, recorded), `${name}, streamed`).toEqual(expected)
    if (!streamed.isComplete) throw new Error(`${name}: its stream has no end`)
  }
}

/** The stream of a client, as the relay writes it: reasons to stop wait for the end. */
function writtenBy(client: ClientDialect, events: readonly ChatEvent[], usage: TokenUsage): string {
  const writer = client.streamWriter(HEAD)
  const isFinish = ({ kind }: ChatEvent): boolean => kind === 'finish'
  const said = [...events.filter((event) => !isFinish(event)), ...events.filter(isFinish)]
  return [...said.flatMap((event) => writer.write(event)), ...writer.end(usage)]
    .map(({ name, data }) =>
      name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`,
    )
    .join('')
}

const NO_TOKENS: TokenUsage = {
  promptTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
}
const HEAD = { id: 'answer-1', model: 'm', nowSeconds: 1, wantsUsage: true }

const clients = (): [string, ClientDialect, (typeof speakers)['openai']][] => [
  ['openai', dialects.openai, speakers.openai],
  ['anthropic', dialects.anthropic, speakers.anthropic],
  ['gemini', dialects.gemini, speakers.gemini],
  ['responses', responsesClient({ model: 'm' }), responsesSpeaker],
]

const SAID = { stop: 'stop', length: 'length', tool: 'tools', filter: 'filtered' } as const

/** The first choice as a client receives it. */
function saidOf(recorded: RecordedAnswer) {
  const [first] = recorded.meta?.choices ?? []
  const { text, reasoning, tools, finish } = comparable(first ?? NO_CHOICE, recorded)
  const usage = definedUsage(recorded)
  return {
    text: text + (first?.refusal ?? ''),
    thought: reasoning,
    calls: tools.map(({ name, args }) => ({ name, args })),
    finish: SAID[finish as 'stop'] ?? '',
    prompt: usage?.prompt ?? 0,
    completion: usage?.completion ?? 0,
  }
}

const NO_CHOICE: MeantChoice = { text: '', refusal: '', reasoning: '', tools: [], finish: null }

function comparableSaid(said: Said, recorded: RecordedAnswer) {
  const { text, thought, calls, finish, prompt, completion } = said
  const choice = { ...NO_CHOICE, text, reasoning: thought, tools: calls, finish }
  const told = comparable(choice, recorded)
  return {
    text: told.text,
    thought: told.reasoning,
    calls,
    finish: told.finish ?? '',
    prompt,
    completion,
  }
}

/** The recording with one of its facts changed. */
function falsified(recorded: RecordedAnswer, way: number): RecordedAnswer {
  const meta = structuredClone(recorded.meta)
  const first = meta?.choices[0]
  if (meta === null || first === undefined) throw new Error('nothing to change')
  const ways: (() => void)[] = [
    () => (first.text += 'x'),
    () => first.tools.push({ name: 'other', args: {} }),
    () => (first.finish = first.finish === 'length' ? 'filter' : 'length'),
    () => (first.reasoning += 'x'),
    () => (meta.usage = NEVER_USED),
  ]
  ways[way % ways.length]?.()
  return { ...recorded, meta }
}

const NEVER_USED = { prompt: 1, completion: 1, total: 2, cached: -1, cacheWrite: 0, reasoning: 0 }

test('a wrong reading of a recording is detected', () => {
  const unnoticed = answered.filter((recorded, index) => {
    const wrong = falsified(recorded, index)
    try {
      expectMeant(read(wrong), wrong)
      expectUsed(wrong)
      return true
    } catch {
      return false
    }
  })
  expect(unnoticed.map(({ name }) => name)).toEqual([])
})

test('what ended without an answer is an error', () => {
  for (const recorded of compared.filter((one) => !answered.includes(one))) {
    expect(() => read(recorded)).toThrow(/error/)
  }
})

/** Files of `gatehouse record`: without `meta`, they are only checked for consistency. */
const unjudged = recordings.filter(
  ({ exchange, meta, status, api }) =>
    exchange !== undefined && meta === null && status === 200 && SPOKEN[api] !== undefined,
)

test.each(unjudged.map((recorded): [string, RecordedAnswer] => [recorded.name, recorded]))(
  '%s is read, and is the same for clients of every dialect',
  (_name, recorded) => {
    const { answer, reading } = read(recorded)
    const choices = answer.choices.map(meantBy)
    const usage = reading.usage === null ? null : asMeantUsage(reading.usage)
    const judged: RecordedAnswer = { ...recorded, meta: { choices, usage } }
    expectTold(judged)
    if (judged.stream) expectGathered(judged)
  },
)

const asMeantUsage = (usage: TokenUsage): MeantUsage => ({
  ...figuresOf(usage),
  total: null,
})

test.skipIf(isOtherFolder)('every reason not to compare a recording has one', () => {
  const unused = EXCEPTIONS.filter(([, applies]) => !recordings.some(applies))
  expect(unused.map(([why]) => why)).toEqual([])
})
