import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  bytesOf,
  definedUsage,
  recordedAnswers,
  type RecordedAnswer,
} from '../../../tools/traffic/recorded-answers.ts'
import { BEDROCK_ACCOUNT } from '../../../tools/fake-upstream/providers/bedrock/bedrock-checks.ts'
import { ask } from '../test/dialect-call.ts'
import { speakers } from '../test/dialect-clients.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../test/relay-setup.ts'
import { playExchange } from '../test/play-exchange.ts'
import { responsesSpeaker } from '../test/responses-client.ts'
import { useRelaySetup } from '../test/use-relay.ts'

/**
 * Recorded answers through the whole relay: an upstream that answers with the recorded bytes, and
 * clients of every dialect. All of them, without the relay: recorded-answers.test.ts.
 */
let setup: RelaySetup
let client: RelayClient
let upstream: ScriptedUpstream
let answer: RecordedAnswer | null = null
useRelaySetup((started) => (setup = started))
beforeAll(async () => {
  client = await aClient(setup)
  upstream = await startScriptedUpstream((request, response) => {
    // Servers without the Responses API are asked for chat instead.
    if (answer === null || request.url?.endsWith('/responses') === true) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"Not Found","type":"invalid_request_error"}}')
      return
    }
    response.writeHead(answer.status, { 'content-type': answer.contentType })
    const bytes = bytesOf(answer)
    // Cut where networks would, which respects nothing.
    const size = Math.max(64, Math.ceil(bytes.length / 7))
    for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size))
    response.end()
  })
})
afterAll(() => upstream.close())

const { accessKeyId, secretKey, region } = BEDROCK_ACCOUNT
const CHANNELS: Readonly<Record<string, { type: number; sent: string; key?: string }>> = {
  anthropic: { type: 14, sent: 'claude-sonnet-4-5' },
  bedrock: {
    type: 33,
    sent: 'us.amazon.nova-pro-v1:0',
    key: `${accessKeyId}|${secretKey}|${region}`,
  },
  cohere: { type: 35, sent: 'command-a-03-2025' },
  deepseek: { type: 36, sent: 'deepseek-chat' },
  google: { type: 24, sent: 'gemini-2.5-flash' },
  groq: { type: 29, sent: 'llama-3.3-70b-versatile' },
  huggingface: { type: 50, sent: 'some-model' },
  mistral: { type: 28, sent: 'mistral-large-latest' },
  openai: { type: 1, sent: 'gpt-4o' },
  openrouter: { type: 20, sent: 'openai/gpt-4o' },
  snowflake: { type: 50, sent: 'some-model' },
}
const APIS: ReadonlySet<string> = new Set([
  'chat',
  'messages',
  'generateContent',
  'converse',
  'cohere',
])
/** Recordings that found a fault in the relay. */
const TELLING =
  /programmatic-tool-calling|tool-search-deferred-bm25|cohere-(?:null|empty)|code_execution_tool|openai_model/

const isCallable = ({ status, api, provider, meta }: RecordedAnswer): boolean =>
  status === 200 &&
  APIS.has(api) &&
  CHANNELS[provider] !== undefined &&
  // Claude on Bedrock has an event stream of its own.
  !(provider === 'bedrock' && api === 'messages') &&
  meta?.choices.length === 1 &&
  meta.problems === undefined &&
  !meta.choices.some(({ tools }) => tools.some(({ partial }) => partial))

const isPlain = ({ meta }: RecordedAnswer): boolean =>
  (meta?.others ?? []).length === 0 &&
  ['stop', 'tool', 'length'].includes(meta?.choices[0]?.finish ?? '')

const callsIn = ({ meta }: RecordedAnswer): number => meta?.choices[0]?.tools.length ?? 0

/**
 * The most informative recordings, and for each provider and form the recording with the most
 * calls.
 */
const chosen = (() => {
  const all = recordedAnswers().filter(isCallable)
  const others = new Map<string, RecordedAnswer>()
  for (const recorded of all.filter(isPlain)) {
    const form = `${recorded.provider} ${recorded.api} ${recorded.stream}`
    const before = others.get(form)
    if (before === undefined || callsIn(recorded) > callsIn(before)) others.set(form, recorded)
  }
  return [...new Set([...all.filter(({ name }) => TELLING.test(name)), ...others.values()])]
})()

const CLIENTS = { ...speakers, responses: responsesSpeaker }
const FINISHES: Readonly<Record<string, string>> = { length: 'length', tool: 'tools' }

test.each(chosen.map((recorded): [string, RecordedAnswer] => [recorded.name, recorded]))(
  '%s',
  async (_name, recorded) => {
    const { type, sent, key } = CHANNELS[recorded.provider] ?? { type: 0, sent: '' }
    const model = aModel()
    await aRoute(setup, model, {
      type,
      base_url: upstream.url,
      model_mapping: JSON.stringify({ [model]: sent }),
      ...(key === undefined ? {} : { key }),
    })
    answer = recorded
    const [choice] = recorded.meta?.choices ?? []
    if (choice === undefined) throw new Error('no choice')
    const tools = [...new Set(choice.tools.map(({ name }) => name))]
    const question = {
      model,
      wish: tools.length === 0 ? {} : { tools },
      isStream: recorded.stream,
    }
    const usage = definedUsage(recorded)
    for (const [name, speaker] of Object.entries(CLIENTS)) {
      const { answer: got, said } = await ask({ setup, client }, speaker, question)
      const { text, calls, finish, isComplete, error } = said
      expect({ name, text, calls, finish, isComplete, error }).toEqual({
        name,
        text: choice.text + choice.refusal,
        calls: choice.tools,
        finish: choice.tools.length > 0 ? 'tools' : (FINISHES[choice.finish ?? ''] ?? 'stop'),
        isComplete: true,
        error: '',
      })
      if (usage === null) continue
      const { log, detail } = await bookedCall(setup, requestIdOf(got))
      expect({ ...log, name, source: detail['usage_source'] }).toMatchObject({
        name,
        prompt_tokens: usage.prompt,
        completion_tokens: usage.completion,
        source: 'upstream',
      })
    }
  },
)

/**
 * Files of `gatehouse record` in another folder: each must give the response that its client
 * received.
 */
const folder = process.env['RECORDED_ANSWERS'] || undefined
const exchanges = folder === undefined ? [] : recordedAnswers(folder)

test.each(
  exchanges
    .filter(({ exchange }) => exchange !== undefined)
    .map((recorded): [string, RecordedAnswer] => [recorded.name, recorded]),
)('%s gives the response that its client received', async (_name, recorded) => {
  const { requests, answer: got, recorded: wanted } = await playExchange(setup, recorded)
  expect(requests).toEqual([])
  expect(got).toEqual(wanted)
})
