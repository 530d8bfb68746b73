import { expect, test } from 'vitest'
import { errorText, type ErrorCode } from '../../../contract/errors.ts'
import {
  aModel,
  aRoute,
  expectNothingCharged,
  post,
  QUESTION,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** A call costs its model's price, and uses no model that its token may not use. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

type Json = Record<string, unknown>

const surfaces = {
  chat: { path: '/v1/chat/completions', type: 1, body: { messages: QUESTION } },
  responses: { path: '/v1/responses', type: 1, body: { input: 'hi' } },
  messages: { path: '/v1/messages', type: 14, body: { max_tokens: 9, messages: QUESTION } },
  images: { path: '/v1/images/generations', type: 1, body: { prompt: 'a cat' } },
  gemini: {
    path: '/v1beta/models/MODEL:generateContent',
    type: 24,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  },
}
type SurfaceName = keyof typeof surfaces

async function asked(name: SurfaceName, members: (model: string) => Json) {
  const { path, type, body } = surfaces[name]
  const model = aModel()
  await aRoute(setup, model, { type })
  const sent = { ...(name === 'gemini' ? {} : { model }), ...body, ...members(model) }
  return post(setup, client, sent, { path: path.replace('MODEL', model) })
}

async function expectRefusedField(
  answer: Awaited<ReturnType<typeof asked>>,
  code: ErrorCode,
  field: string,
): Promise<void> {
  expect(answer.status).toBe(400)
  expect(JSON.stringify(answer.json)).toContain(errorText(code, 'zh', { field }))
  expect(setup.upstream.seen()).toEqual([])
  await expectNothingCharged(setup, client)
}

const advisor = (model: string) => ({ type: 'advisor_20260301', name: 'advisor', model })
const added = (tool: object) => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition: tool },
})
const said = (...content: object[]): Json => ({
  messages: [...QUESTION, { role: 'system', content }],
})

test.each<[SurfaceName, Json, string]>([
  ['messages', { fallbacks: [{ model: 'claude-opus-5' }] }, 'fallbacks'],
  ['messages', { fallbacks: 'default' }, 'fallbacks'],
  ['messages', { tools: [{ name: 'x' }, advisor('claude-opus-5')] }, 'tools[1].model'],
  [
    'messages',
    said(added(advisor('claude-opus-5'))),
    'messages[1].content[0].tool.definition.model',
  ],
  [
    'messages',
    said({ type: 'compaction', tool_changes: [added(advisor('claude-opus-5'))] }),
    'messages[1].content[0].tool.definition.model',
  ],
  ['chat', { models: ['anthropic/claude-opus-5'] }, 'models'],
  ['chat', { plugins: [{ id: 'fusion' }] }, 'plugins[0]'],
  ['responses', { tools: [{ type: 'openrouter:advisor' }] }, 'tools[0]'],
  ['images', { output_format: 'svg' }, 'output_format'],
  [
    'gemini',
    { generationConfig: { routingConfig: { manualMode: { modelName: 'gemini-2.5-pro' } } } },
    'generationConfig.routingConfig',
  ],
  [
    'gemini',
    { generation_config: { model_config: { feature_selection_preference: 'BALANCED' } } },
    'generation_config.model_config',
  ],
])('%s with %j would use another model', async (surface, members, field) => {
  await expectRefusedField(await asked(surface, () => members), 'relay_field_other_model', field)
})

test('an escape does not hide a tool', async () => {
  const model = aModel()
  await aRoute(setup, model, { type: 14 })
  const body = JSON.stringify({ model, max_tokens: 9, ...said(added(advisor('claude-opus-5'))) })
  const hidden = body.replace('tool_definition', 'tool\\u005fdefinition')
  const answer = await post(setup, client, hidden, { path: surfaces.messages.path })
  const field = 'messages[1].content[0].tool.definition.model'
  await expectRefusedField(answer, 'relay_field_other_model', field)
})

test.each<[SurfaceName, Json, string]>([
  ['chat', { service_tier: 'priority' }, 'service_tier'],
  ['chat', { service_tier: 'flex' }, 'service_tier'],
  ['responses', { service_tier: 'fast' }, 'service_tier'],
  ['messages', { speed: 'fast' }, 'speed'],
  ['messages', { inference_geo: 'us' }, 'inference_geo'],
  ['gemini', { serviceTier: 'flex' }, 'serviceTier'],
  ['gemini', { tools: [{ parallelAiSearch: {} }] }, 'tools[0].parallelAiSearch'],
  ['gemini', { tools: { exa_ai_search: { api_key: 'k' } } }, 'tools[0].exa_ai_search'],
])('%s with %j would have another price', async (surface, members, field) => {
  await expectRefusedField(await asked(surface, () => members), 'relay_field_other_price', field)
})

test.each([1, 14, 24])(
  'type %i: a conversation that the provider would store is rejected with a code for its client',
  async (type) => {
    for (const thread of [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }]) {
      const model = aModel()
      await aRoute(setup, model, { type })
      const body = { model, ...surfaces.messages.body, thread }
      const answer = await post(setup, client, body, { path: surfaces.messages.path })
      await expectRefusedField(answer, 'relay_field_unsupported', 'thread')
      const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
      expect(answer.json).toMatchObject({ error: { type: 'invalid_request_error', details } })
    }
  },
)

test.each<[SurfaceName, string, (model: string) => Json]>([
  ['chat', 'an ordinary tier', () => ({ service_tier: 'default', models: null })],
  ['chat', 'itself as a substitute', (model) => ({ models: [model] })],
  ['responses', 'a picture tool', () => ({ tools: [{ type: 'image_generation', model: 'x' }] })],
  ['messages', 'ordinary words', () => ({ service_tier: 'standard_only', speed: 'standard' })],
  ['messages', 'no conversation held', () => ({ thread: null })],
  ['messages', 'an ordinary place', () => ({ inference_geo: 'global', fallbacks: null })],
  ['messages', 'itself as an advisor', (model) => ({ tools: [advisor(model)] })],
  ['images', 'a format of pixels', () => ({ output_format: 'webp' })],
  ['gemini', 'an ordinary tier', () => ({ serviceTier: 'STANDARD' })],
  ['gemini', 'no choice of a model', () => ({ generationConfig: { routingConfig: null } })],
])('%s passes with %s', async (surface, _what, members) => {
  await asked(surface, members)
  expect(setup.upstream.seen()).toHaveLength(1)
})
