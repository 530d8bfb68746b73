import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { onSqlite } from '../../test/for-each-database.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  expectRefusal,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

const path = '/v1/responses'
const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'By chat.' } },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
}
const HOUR_SECONDS = 3600

onSqlite('a server that only chats', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  let upstream: ScriptedUpstream
  let asked: string[] = []
  /** The upstream's response to the Responses API. */
  let refusal = { status: 404, body: '{"detail":"Not Found"}' }
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  beforeAll(async () => {
    upstream = await startScriptedUpstream((request, response) => {
      asked.push(String(request.url))
      const isChat = request.url?.endsWith('/chat/completions') === true
      response.writeHead(isChat ? 200 : refusal.status, { 'content-type': 'application/json' })
      response.end(isChat ? JSON.stringify(ANSWER) : refusal.body)
    })
  })
  beforeEach(() => {
    asked = []
  })
  afterAll(() => upstream.close())

  const ask = (body: Record<string, unknown>) =>
    post(setup, client, { input: 'What is the answer?', ...body }, { path })

  async function aCompatible(): Promise<string> {
    const model = aModel()
    await aRoute(setup, model, { type: 50, base_url: `${upstream.url}/v1` })
    return model
  }

  test.each([
    [404, '{"detail":"Not Found"}'],
    [404, '404 page not found'],
    [405, '{"detail":"Method Not Allowed"}'],
    [501, '{"error":{"message":"API not implemented"}}'],
  ])('is asked once, and then for chat: %i %s', async (status, body) => {
    refusal = { status, body }
    const model = await aCompatible()
    const first = await ask({ model })
    expect(first.status).toBe(200)
    expect(first.json).toMatchObject({ object: 'response', status: 'completed', store: false })
    expect((await bookedCall(setup, requestIdOf(first))).quota).toBe(7)
    const events = await stream(setup, client, { model, input: 'hi' }, { path })
    expect(events.text()).toContain('By chat.')
    expect(events.text()).toContain('event: response.completed')
    expect(asked).toEqual(['/v1/responses', '/v1/chat/completions', '/v1/chat/completions'])
    const kept = await ask({ model, previous_response_id: 'resp_1' })
    expectRefusal(kept, {
      code: 'relay_field_unsupported',
      status: 400,
      params: { field: 'previous_response_id' },
      wireCode: 'unsupported_parameter',
    })
  })

  test('is asked again after an hour, should it have learnt it', async () => {
    refusal = { status: 404, body: '{}' }
    const model = await aCompatible()
    await ask({ model })
    setup.clock.lapseSeconds(HOUR_SECONDS + 1)
    await ask({ model })
    expect(asked.filter((url) => url === path)).toHaveLength(2)
  })

  test('is named the field that chat cannot have, and is remembered', async () => {
    refusal = { status: 404, body: '{"detail":"Not Found"}' }
    const model = await aCompatible()
    for (const times of [1, 2]) {
      const answer = await ask({ model, tools: [{ type: 'web_search' }] })
      expectRefusal(answer, {
        code: 'relay_field_search_unsupported',
        status: 400,
        params: { field: 'tools[0].type', tool: 'web_search' },
        wireCode: 'unsupported_parameter',
      })
      expect(asked, `call ${times}`).toEqual([path])
    }
    await setup.app.options.set('DropHostedTools', '36')
    expect((await ask({ model, tools: [{ type: 'web_search' }] })).status).toBe(400)
    await setup.app.options.set('DropHostedTools', '36, 50')
    const answer = await ask({ model, tools: [{ type: 'web_search' }] })
    await setup.app.options.set('DropHostedTools', '')
    expect(answer.headers['x-gatehouse-dropped']).toBe('tools.web_search')
    expect(answer.json).toMatchObject({ object: 'response', status: 'completed' })
  })

  test.each([
    ['the model is not there', 'The model `m` does not exist.', 'hi'],
    [
      'what it refers to is not there',
      'File not found.',
      [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }],
    ],
  ])('is not taken for one where %s', async (_what, message, input) => {
    refusal = { status: 404, body: JSON.stringify({ error: { message } }) }
    const model = await aCompatible()
    expect((await ask({ model, input })).status).toBe(404)
    expect(asked).toEqual([path])
  })
})
