import { expect, test } from 'vitest'
import { aToken } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  expectRefusal,
  post,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

const path = '/v1/responses'

forEachDatabase('what refers to items of responses', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  const ask = (body: Record<string, unknown>, own = client) =>
    post(setup, own, { input: 'What is the answer?', ...body }, { path })

  const madeBy = async (model: string): Promise<void> => {
    expect((await ask({ model })).status).toBe(200)
  }

  const refer = (model: string, id: string, own = client) =>
    ask(
      {
        model,
        input: [
          { type: 'item_reference', id },
          { role: 'user', content: 'on' },
        ],
      },
      own,
    )

  test('goes where the last of them lies', async () => {
    const model = aModel()
    for (const words of ['a', 'b', 'c']) {
      const own = aModel()
      await aRoute(setup, `${own},${model}`, { words })
      await (words === 'b'
        ? stream(setup, client, { model: own, input: 'hi' }, { path })
        : madeBy(own))
      for (const _time of [1, 2, 3]) {
        setup.upstream.seen()
        expect((await refer(model, 'msg_fixed')).status).toBe(200)
        expect(setup.upstream.seen().map(({ url }) => url)).toEqual([`/~${words}/v1/responses`])
      }
    }
  })

  test('is for whom they were made', async () => {
    const model = await aServedModel(setup)
    await ask({ model, tools: [{ type: 'web_search' }], input: 'search for it' })
    expect((await refer(model, 'ws_fixed')).status).toBe(200)
    const stranger = await aClient(setup)
    setup.upstream.seen()
    const unknown = {
      code: 'response_item_unknown',
      status: 404,
      wireCode: 'item_not_found',
    } as const
    const id = 'ws_fixed'
    expectRefusal(await refer(model, id, stranger), { ...unknown, params: { id } })
    for (const item of [
      { id },
      { type: 'reasoning', id, summary: [] },
      { type: 'image_generation_call', id },
    ]) {
      const input = [{ role: 'user', content: 'hi' }, item]
      expectRefusal(await ask({ model, input }, stranger), { ...unknown, params: { id } })
    }
    expect(setup.upstream.seen()).toEqual([])
    const whole = [
      { type: 'reasoning', id, summary: [], encrypted_content: 'sealed' },
      { type: 'message', role: 'assistant', id, content: [{ type: 'output_text', text: 'Hi' }] },
    ]
    expect((await ask({ model, input: whole }, stranger)).status).toBe(200)
  })

  test('is for tokens that may use the model which made them', async () => {
    const [maker, model] = [aModel(), aModel()]
    await aRoute(setup, `${maker},${model}`)
    const own = await aClient(setup)
    await ask({ model: maker }, own)
    for (const [models, status] of [
      [model, 404],
      [`${model},${maker}`, 200],
    ] as const) {
      const { id, key } = await aToken(setup, own.userId, { unlimited_quota: true, models })
      const limited = { ...own, tokenId: id, key }
      expect((await refer(model, 'msg_fixed', limited)).status).toBe(status)
    }
  })

  test('is not known of what was not to be stored, nor for ever', async () => {
    const model = await aServedModel(setup)
    const own = await aClient(setup)
    await ask({ model, store: false }, own)
    expect((await refer(model, 'msg_fixed', own)).status).toBe(404)
    await ask({ model }, own)
    expect((await refer(model, 'msg_fixed', own)).status).toBe(200)
    // Nor is an item a response.
    const headers = { authorization: `Bearer ${own.key}` }
    expect((await setup.call('GET', `${path}/msg_fixed`, { headers })).status).toBe(404)
    await setup.database.write
      .updateTable('response_channels')
      .set({ expires_at: setup.app.clock.nowSeconds() })
      .where('user_id', '=', own.userId)
      .execute()
    expect((await refer(model, 'msg_fixed', own)).status).toBe(404)
  })

  test('or to containers is for whom those were made, stored or not', async () => {
    const cited = [{ type: 'container_file_citation', container_id: 'cntr_cited' }]
    const output = [
      { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', container_id: 'cntr_1' },
      {
        type: 'shell_call',
        environment: { type: 'container_reference', container_id: 'cntr_2' },
      },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', annotations: cited }],
      },
    ]
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
    const upstream = await startScriptedUpstream((_request, answer) => {
      answer.setHeader('content-type', 'application/json')
      answer.end(JSON.stringify({ id: 'resp_1', object: 'response', output, usage }))
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const own = await aClient(setup)
    const stranger = await aClient(setup)
    await ask({ model, store: false }, own)
    // A known container does not make its items known.
    expect((await refer(model, 'ci_1', own)).status).toBe(404)
    const environment = { type: 'container_reference', container_id: 'cntr_2' }
    const shell = { type: 'shell', environment }
    const named: [string, Record<string, unknown>][] = [
      ['cntr_1', { tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }],
      ['cntr_cited', { tools: [{ type: 'code_interpreter', container: 'cntr_cited' }] }],
      ['cntr_2', { tools: [shell] }],
      ['cntr_2', { input: [{ type: 'additional_tools', tools: [shell] }] }],
      ['cntr_1', { input: output.slice(0, 1), tools: [{ type: 'code_interpreter' }] }],
    ]
    for (const [id, body] of named) {
      expect((await ask({ model, ...body }, own)).status).toBe(200)
      expectRefusal(await ask({ model, ...body }, stranger), {
        code: 'response_item_unknown',
        status: 404,
        wireCode: 'item_not_found',
        params: { id },
      })
    }
    await upstream.close()
  })

  test('leaves thoughts alone where they are not looked up', async () => {
    const model = aModel()
    await aRoute(setup, model, { type: 8 })
    const input = [{ type: 'reasoning', id: 'rs_1', summary: [] }]
    expect((await ask({ model, input })).status).toBe(200)
  })
})
