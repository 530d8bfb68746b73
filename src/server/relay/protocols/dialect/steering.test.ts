import { expect, test } from 'vitest'
import { RequestNotes } from '../canonical/request-notes.ts'
import type { SpokenName } from '../canonical/chat-request.ts'
import type { UpstreamName } from '../../../test/upstream-dialects.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { scanBody } from '../../json/body-scan.ts'
import { responsesClient } from '../openai-responses/client.ts'
import { lackingEdits } from './steering.ts'

/** Parameters that are dropped or changed for an upstream, by the client's names. */

const SMALLEST: Readonly<Record<SpokenName, JsonRecord>> = {
  openai: { messages: [{ role: 'user', content: 'x' }] },
  responses: { input: 'x' },
  anthropic: { max_tokens: 9000, messages: [{ role: 'user', content: 'x' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
}

function noted(client: SpokenName, upstream: UpstreamName, members: JsonRecord, model: string) {
  const body = { ...SMALLEST[client], ...members }
  const reader = client === 'responses' ? responsesClient(body) : dialects[client]
  const notes = new RequestNotes()
  const request = reader.readRequest(body, notes)
  const sent = upstreamDialects[upstream].writeRequest(request, {
    model,
    isStream: false,
    asksForUsage: false,
  })
  return { sent, noted: [notes.dropped.join(), notes.adjusted.join()] }
}

const CHAT = { seed: 7, stop: ['END'], presence_penalty: 0.5, frequency_penalty: 0.5 }
const GEMINI = { generationConfig: { seed: 7, presencePenalty: 1, topK: 20, stopSequences: ['E'] } }
const SIX = ['a', 'b', 'c', 'd', 'e', 'f']

type Case = [SpokenName, UpstreamName, string, JsonRecord, string, string]

const CASES: readonly Case[] = [
  ['openai', 'anthropic', 'claude-haiku-4-5', CHAT, 'seed,presence_penalty,frequency_penalty', ''],
  ['openai', 'converse', 'meta.llama', CHAT, 'seed,presence_penalty,frequency_penalty', ''],
  ['openai', 'converse', 'meta.llama', { top_k: 9, temperature: 1.5 }, 'top_k', 'temperature'],
  ['openai', 'converse', 'meta.llama', { reasoning_effort: 'high' }, 'reasoning_effort', ''],
  [
    'openai',
    'spark',
    'Spark-Max',
    { ...CHAT, top_p: 0.5, top_k: 9, reasoning_effort: 'low' },
    'top_p,seed,presence_penalty,frequency_penalty,reasoning_effort',
    'top_k',
  ],
  [
    'openai',
    'tencent',
    'hunyuan',
    { ...CHAT, seed: 0 },
    'presence_penalty,frequency_penalty',
    'seed',
  ],
  ['openai', 'baidu', 'ERNIE', CHAT, 'seed,presence_penalty,frequency_penalty', ''],
  [
    'openai',
    'cohere',
    'command',
    { presence_penalty: -1, frequency_penalty: 2 },
    'presence_penalty',
    'frequency_penalty',
  ],
  [
    'openai',
    'coze',
    'bot-1',
    { ...CHAT, temperature: 0.2 },
    'temperature,seed,presence_penalty,frequency_penalty',
    '',
  ],
  ['openai', 'gemini', 'gemini-3-pro', { stop: SIX }, '', ''],
  ['openai', 'gemini', 'gemini-3-pro', { reasoning_effort: 'none' }, '', 'reasoning_effort'],
  ['openai', 'gemini', 'gemini-1.5-pro', { reasoning_effort: 'low' }, 'reasoning_effort', ''],
  [
    'openai',
    'anthropic',
    'claude-opus-4-8',
    { temperature: 0.2, top_p: 0.5 },
    'temperature,top_p',
    '',
  ],
  ['openai', 'anthropic', 'claude-haiku-4-5', { temperature: 1.5 }, '', 'temperature'],
  ['openai', 'ollama', 'llama3', { user: 'ann' }, 'user', ''],
  ['anthropic', 'openai', 'm', { stop_sequences: SIX }, '', ''],
  ['anthropic', 'responses', 'gpt-5.6', { stop_sequences: ['E'], top_k: 3 }, 'top_k', ''],
  ['anthropic', 'gemini', 'gemini-3-pro', { metadata: { user_id: 'ann' } }, 'metadata.user_id', ''],
  [
    'gemini',
    'anthropic',
    'claude-haiku-4-5',
    GEMINI,
    'generationConfig.seed,generationConfig.presencePenalty',
    '',
  ],
  [
    'gemini',
    'responses',
    'gpt-4.1',
    GEMINI,
    'generationConfig.seed,generationConfig.topK,generationConfig.presencePenalty',
    '',
  ],
  ['responses', 'openai', 'gpt-4.1', { reasoning: { effort: 'high' } }, 'reasoning.effort', ''],
]

test.each(
  CASES.map(([client, upstream, model, members, dropped, adjusted]) => ({
    client,
    upstream,
    model,
    members,
    expected: [dropped, adjusted],
  })),
)('$client to $upstream, $model, $members: notes $expected', (one) => {
  const { client, upstream, members, model, expected } = one
  expect(noted(client, upstream, members, model).noted).toEqual(expected)
})

test.each<[UpstreamName, JsonRecord]>([
  ['anthropic', { presence_penalty: 0, frequency_penalty: 0, n: 1, seed: null, logit_bias: {} }],
  ['spark', { top_p: 1, stop: null, reasoning_effort: 'none' }],
  ['coze', { temperature: 1, top_p: 1, stop: [] }],
])('nothing is noted of values that ask for nothing: %s, %j', (upstream, members) => {
  expect(noted('openai', upstream, members, 'm').noted).toEqual(['', ''])
})

test('removes members of OpenAI’s chat that a vendor of its dialect lacks', () => {
  const body = scanBody(Buffer.from('{"logit_bias":{"1":1},"seed":7,"user":"ann","stop":null}'))
  if (!body.ok) throw new Error(body.reason)
  const notes = new RequestNotes()
  expect(lackingEdits(body, ['logitBias', 'userId', 'stop', 'topK'], notes)).toEqual([
    { remove: 'logit_bias' },
    { remove: 'user' },
    { remove: 'stop' },
  ])
  expect(notes.dropped).toEqual(['logit_bias', 'user'])
  expect(() => lackingEdits(body, ['seed'], new RequestNotes(true))).toThrow(/seed/)
})
