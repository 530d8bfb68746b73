import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { aModel, aRoute, chatBody, post, type RelaySetup } from '../test/relay-setup.ts'
import type { RelayClient } from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

/** Models that came out yesterday: no snapshot, override or family has their names. */
forEachDatabase('models that only the operator knows', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  let root: TestUser
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  beforeAll(async () => {
    root = await aUser(setup, { role: Role.root })
  })
  beforeEach(() => setup.upstream.seen())
  afterAll(() => setup.app.options.set('ModelCapabilities', ''))

  const lastBody = () => setup.upstream.seen().at(-1)?.body
  const save = (entries: object | string, language = 'en') =>
    setup.call('PUT', '/api/option/', {
      as: root,
      headers: { 'accept-language': language },
      body: {
        key: 'ModelCapabilities',
        value: typeof entries === 'string' ? entries : JSON.stringify(entries),
      },
    })
  const asked = async (model: string, members: Record<string, unknown>) => {
    const answer = await post(setup, client, chatBody(model, members))
    expect(answer.status).toBe(200)
    return lastBody()
  }

  test('sampling and the limit of a model that reasons, at OpenAI', async () => {
    const model = `zephyr-${aModel()}`
    await aRoute(setup, model, { type: 1 })
    const members = { temperature: 0.2, top_p: 0.5, max_tokens: 900, reasoning_effort: 'low' }
    expect(await asked(model, members)).toMatchObject({ temperature: 0.2, max_tokens: 900 })
    const saved = await save({
      'zephyr-*': {
        maker: 'openai',
        reasoning: true,
        temperature: false,
        reasoning_options: [{ type: 'effort', values: ['low', 'high'] }],
        limit: { output: 500 },
      },
    })
    expect(saved.json).toMatchObject({ success: true })
    const sent = await asked(model, members)
    expect(sent).toMatchObject({ max_completion_tokens: 500, reasoning_effort: 'low' })
    for (const name of ['temperature', 'top_p', 'max_tokens']) expect(sent).not.toHaveProperty(name)
  })

  test('reasoning is sent back in the member that the model requires', async () => {
    const model = `boreas-${aModel()}`
    await aRoute(setup, model, { type: 50 })
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'And?' },
    ]
    await save({ [model]: { interleaved: { field: 'thought', placeholder: '-' } } })
    expect(await asked(model, { messages })).toMatchObject({
      messages: [{}, { thought: 'Hm.' }, {}, { thought: '-' }, {}],
    })
    await save('')
    expect(await asked(model, { messages })).toEqual({ model, messages })
  })

  test('a model with the capabilities of another calls tools by the Responses API', async () => {
    const model = `notus-${aModel()}`
    await aRoute(setup, model, { type: 1 })
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    const last = () => setup.upstream.seen().at(-1)?.url
    await post(setup, client, chatBody(model, { tools }))
    expect(last()).toBe('/v1/chat/completions')
    await save({ [model]: { base_model: 'gpt-5.6' } })
    await post(setup, client, chatBody(model, { tools }))
    expect(last()).toBe('/v1/responses')
  })

  test('an entry that does not fit is refused in one sentence, and nothing changes', async () => {
    await save({ a: { reasoning: true } })
    const refused = await save({ a: { reasoning: 'much' } })
    expect(refused.json).toMatchObject({
      success: false,
      message:
        'The value for “Model capabilities” (ModelCapabilities) is not valid: “a”: reasoning: true or false',
    })
    expect((await save('{', 'zh')).json).toMatchObject({
      message: '「模型能力」（ModelCapabilities）的值无效：不是有效的 JSON',
    })
    expect(setup.app.options.text('ModelCapabilities')).toBe('{"a":{"reasoning":true}}')
  })

  test('a preview shows the effect of entries on served models', async () => {
    const model = `eurus-${aModel()}`
    await aRoute(setup, model, { type: 1 })
    const preview = (entries: string) =>
      setup.call('POST', '/api/model-capabilities/preview', { as: root, body: { entries } })
    const entries = { 'eurus-*': { reasoning: true }, 'eurus-9(50)': {} }
    expect((await preview(JSON.stringify(entries))).json).toMatchObject({
      success: true,
      data: {
        matched: [
          { model, type: 1, entries: ['eurus-*'], before: '{}', after: '{"reasoning":true}' },
        ],
        unmatched: ['eurus-9(50)'],
      },
    })
    expect((await preview('{"a":1}')).json).toMatchObject({ success: false })
  })
})
