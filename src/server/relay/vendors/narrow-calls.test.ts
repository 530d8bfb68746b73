import { describe, expect, test } from 'vitest'
import { PIXEL } from '../../../../tools/fake-upstream/openai/media-answers.ts'
import { ask } from '../../test/dialect-call.ts'
import { speakers, type Wish } from '../../test/dialect-clients.ts'
import { onSqlite } from '../../test/for-each-database.ts'
import {
  aClient,
  aRoute,
  bookedCall,
  channelTestOf,
  eventually,
  expectNothingCharged,
  post,
  requestIdOf,
  startCall,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/**
 * Providers with a narrow set of functions: bots, predictions, translations. The upstream rejects
 * what they would reject.
 */

const ANSWER = 'The answer is forty-two.'
const QUESTION = 'What is the answer?'
const IMAGES = '/v1/images/generations'

interface Narrow {
  label: string
  type: number
  config: string
  /** Name of a model that the provider recognizes; the number distinguishes tests. */
  model(made: number): string
  /** Usage of a call with `QUESTION`. */
  prompt: number
  completion: number
  streams: boolean
}

const narrow: readonly Narrow[] = [
  {
    label: 'Coze',
    type: 34,
    config: '{"user_id":"7012"}',
    model: (made) => `bot-73${made}`,
    prompt: 11,
    completion: 7,
    streams: true,
  },
  {
    label: 'Replicate',
    type: 46,
    config: '',
    model: (made) => `meta/llama-${made}`,
    prompt: 11,
    completion: 7,
    streams: true,
  },
  {
    label: 'DeepL',
    type: 38,
    config: '',
    model: (made) => `translator${made}-ja`,
    prompt: QUESTION.length,
    completion: 0,
    streams: false,
  },
]

let made = 0

onSqlite('providers that only chat', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open })

  /** Adds a model of a new channel; `words` control the upstream's response. */
  async function aServed({ type, config, model }: Narrow, words = ''): Promise<string> {
    made += 1
    const name = model(made)
    await aRoute(setup, name, { type, key: 'sk-upstream-key', config, words })
    return name
  }

  const bodyOf = (model: string, isStream: boolean, wish: Wish = {}) =>
    speakers.openai.body(model, { words: QUESTION, ...wish }, isStream)

  const streamed = (model: string) =>
    ask({ setup, client }, speakers.openai, { model, wish: { words: QUESTION }, isStream: true })

  describe.each(narrow)('$label', (to) => {
    const figures = { prompt_tokens: to.prompt, completion_tokens: to.completion }

    test('responds with and without streaming, and charges the reported usage', async () => {
      const model = await aServed(to)
      const whole = await post(setup, client, bodyOf(model, false))
      expect(whole.status).toBe(200)
      expect(speakers.openai.whole(Object(whole.json))).toMatchObject({
        text: ANSWER,
        finish: 'stop',
        prompt: to.prompt,
        completion: to.completion,
      })
      const { answer, said } = await streamed(model)
      expect(said).toMatchObject({ text: ANSWER, finish: 'stop', isComplete: true })
      for (const asked of [whole, answer]) {
        const { detail } = await bookedCall(setup, requestIdOf(asked))
        expect(detail).toMatchObject({ ...figures, usage_source: 'upstream' })
      }
    })

    test.each(['anthropic', 'gemini'] as const)('answers clients of %s', async (name) => {
      const model = await aServed(to)
      const question = { model, wish: { words: QUESTION }, isStream: false }
      const { said, answer } = await ask({ setup, client }, speakers[name], question)
      expect(answer.status).toBe(200)
      expect(said).toMatchObject({ text: ANSWER, finish: 'stop' })
    })

    test('reports an error without the key and without a charge', async () => {
      const model = await aServed(to, 'fail-400')
      for (const isStream of [false, true]) {
        const answer = await post(setup, client, bodyOf(model, isStream))
        expect(answer.status).toBe(400)
        expect(JSON.stringify(answer.json)).toContain('upstream says 400')
        expect(JSON.stringify(answer.json)).not.toContain('sk-upstream-key')
      }
      await expectNothingCharged(setup, client)
    })

    test('an incomplete or invalid response fails without a charge', async () => {
      for (const [words, expected] of [
        ['cut-after-1', 502],
        ['html-200', 500],
        ['fail-cut', 500],
      ] as const) {
        const model = await aServed(to, words)
        const { status } = await post(setup, client, bodyOf(model, false))
        expect([words, status]).toEqual([words, expected])
      }
      await expectNothingCharged(setup, client)
    })

    test('rejects tools, output formats and several choices by name, without a charge', async () => {
      const model = await aServed(to)
      for (const [over, field] of [
        [{ n: 2 }, 'n'],
        [{ response_format: { type: 'json_object' } }, 'response_format'],
        [{ tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools'],
      ] as const) {
        const answer = await post(setup, client, { ...bodyOf(model, false), ...over })
        expect(answer.status).toBe(400)
        expect(JSON.stringify(answer.json)).toContain(field)
      }
      expect(setup.upstream.seen()).toEqual([])
      await expectNothingCharged(setup, client)
    })

    test('its channel can be tested', async () => {
      const model = await aServed(to)
      expect((await channelTestOf(setup, model)).json).toMatchObject({ success: true })
    })
  })

  describe.each(narrow.filter(({ streams }) => streams))('a stream of $label', (to) => {
    test('counts missing usage', async () => {
      const model = await aServed(to, 'no-usage')
      const whole = await post(setup, client, bodyOf(model, false))
      const { answer } = await streamed(model)
      for (const asked of [whole, answer]) {
        const { detail } = await bookedCall(setup, requestIdOf(asked))
        expect(detail['usage_source']).toBe('counted')
        expect(detail['completion_tokens']).toBeGreaterThan(3)
      }
    })

    test('reports an error within it, and charges what was received', async () => {
      const model = await aServed(to, 'error-mid-stream')
      const { answer, said } = await streamed(model)
      expect(said.isComplete).toBe(false)
      expect(said.error).toContain('failed in the middle')
      expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
    })

    test('is incomplete if it breaks off, and what was received is charged', async () => {
      const model = await aServed(to, 'cut-after-4')
      const { answer, said } = await streamed(model)
      expect(said.isComplete).toBe(false)
      expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
    })

    test('is the same byte by byte', async () => {
      const model = await aServed(to, 'one-byte')
      const { said } = await streamed(model)
      expect(said).toMatchObject({ text: ANSWER, isComplete: true })
    })
  })

  const [coze, replicate] = narrow as readonly [Narrow, Narrow, Narrow]

  test('Coze: a bot, its user, and both sides of the conversation', async () => {
    const model = await aServed(coze)
    const body = {
      model,
      temperature: 0.5,
      max_tokens: 9,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'One?' },
        { role: 'assistant', content: 'One.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Two?' },
            { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
          ],
        },
      ],
    }
    expect((await post(setup, client, body)).status).toBe(200)
    const [seen] = setup.upstream.seen()
    expect(seen?.url).toBe('/v3/chat')
    expect(seen?.headers).toMatchObject({
      authorization: 'Bearer sk-upstream-key',
      accept: 'text/event-stream',
    })
    const said = (content: string, role = 'user', type = 'question') => ({
      role,
      type,
      content,
      content_type: 'text',
    })
    expect(seen?.body).toEqual({
      bot_id: model.replace('bot-', ''),
      user_id: '7012',
      stream: true,
      auto_save_history: false,
      additional_messages: [
        said('Be brief.'),
        said('One?'),
        said('One.', 'assistant', 'answer'),
        {
          role: 'user',
          type: 'question',
          content:
            '[{"type":"text","text":"Two?"},' +
            '{"type":"image","file_url":"https://pictures.example/a.png"}]',
          content_type: 'object_string',
        },
      ],
    })
  })

  test('Coze: treats a key error with status 200 as a rejected key', async () => {
    made += 1
    const model = `bot-99${made}`
    const config = JSON.stringify({ user_id: '7', header_override: { Authorization: '' } })
    await aRoute(setup, model, { type: 34, config })
    for (const isStream of [false, true]) {
      const answer = await post(setup, client, bodyOf(model, isStream))
      expect(answer.status).toBe(503)
      expect(JSON.stringify(answer.json)).toContain('channel_account_refused')
    }
    await expectNothingCharged(setup, client)
  })

  test('Replicate: uses the input names of each model and the maximum wait', async () => {
    const model = await aServed(replicate)
    const wish: Wish = { system: 'Be brief.', temperature: 0.5, maxTokens: 64, stop: ['END'] }
    await post(setup, client, bodyOf(model, false, wish))
    const [seen, ...others] = setup.upstream.seen()
    expect(others).toEqual([])
    expect(seen?.url).toBe(`/v1/models/${model}/predictions`)
    expect(seen?.headers['prefer']).toBe('wait=60')
    expect(seen?.body).toEqual({
      input: {
        prompt: QUESTION,
        system_prompt: 'Be brief.',
        max_tokens: 64,
        temperature: 0.5,
        stop_sequences: 'END',
      },
    })
  })

  test('Replicate: polls a prediction that is not finished in time', async () => {
    const model = await aServed(replicate)
    const body = bodyOf(model, false, { words: 'Answer slowly.' })
    const answer = await post(setup, client, body)
    expect(speakers.openai.whole(Object(answer.json)).text).toBe(ANSWER)
    const seen = setup.upstream.seen()
    expect(seen.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET'])
    expect(seen[1]?.url).toMatch(/^\/v1\/predictions\/fixed\d+$/)
    expect(seen[1]?.headers).not.toHaveProperty('prefer')
  })

  test('Replicate: a failed prediction is an error without a charge', async () => {
    const model = await aServed(replicate)
    const answer = await post(setup, client, bodyOf(model, false, { words: 'Do the impossible.' }))
    expect(answer.status).toBe(502)
    expect(JSON.stringify(answer.json)).toContain('could not do it')
    await expectNothingCharged(setup, client)
  })

  test('Replicate: cancels a prediction after its client has left, and charges the prompt', async () => {
    const model = await aServed(replicate)
    const gone = startCall(setup, client, bodyOf(model, false, { words: 'Answer slowly.' }))
    const calls = setup.upstream.seen()
    const called = (method: string, end: string) =>
      eventually(() => {
        calls.push(...setup.upstream.seen())
        return calls.some((call) => call.method === method && call.url.endsWith(end))
      }, `${method} …${end}`)
    await called('POST', '/predictions')
    gone.destroy()
    await called('POST', '/cancel')
    const row = await eventually(
      () =>
        setup.database.read
          .selectFrom('ledger')
          .selectAll()
          .where('user_id', '=', client.userId)
          .where('kind', '=', 'consume')
          .executeTakeFirst(),
      'the settlement',
    )
    expect(JSON.parse(row.detail)).toMatchObject({ completion_tokens: 0, usage_source: 'counted' })
  })

  test('Replicate: generates images, charged per image, as URLs or bytes', async () => {
    made += 1
    const model = `black-forest-labs/flux-${made}`
    await aRoute(setup, model, { type: 46, key: 'sk-upstream-key' })
    const wish = { model, prompt: 'a cat', size: '1792x1024', n: 2, seed: 7 }
    const byAddress = await post(setup, client, wish, { path: IMAGES })
    expect(byAddress.json).toMatchObject({
      data: [{ url: expect.stringMatching(/\/files\/0\.png$/) }, { url: expect.any(String) }],
    })
    const [seen] = setup.upstream.seen()
    expect(seen?.body).toEqual({
      input: {
        prompt: 'a cat',
        aspect_ratio: 'custom',
        width: 1792,
        height: 1024,
        num_outputs: 2,
        seed: 7,
      },
    })
    const { detail } = await bookedCall(setup, requestIdOf(byAddress))
    expect(detail).toMatchObject({ usage_source: 'upstream' })

    const body = { model, prompt: 'a cat', size: '1024x1024', response_format: 'b64_json' }
    const asBytes = await post(setup, client, body, { path: IMAGES })
    expect(asBytes.json).toMatchObject({ created: 1_767_323_045, data: [{ b64_json: PIXEL }] })
    expect(setup.upstream.seen()[0]?.body).toEqual({
      input: { prompt: 'a cat', aspect_ratio: '1:1' },
    })
  })

  test('Replicate: a prediction without an image fails without a charge', async () => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(201, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ id: 'p1', status: 'succeeded', output: null, error: null }))
    })
    made += 1
    const model = `black-forest-labs/flux-${made}`
    await aRoute(setup, model, { type: 46, base_url: upstream.url, priority: 1 })
    const body = { model, prompt: 'a cat' }
    expect((await post(setup, client, body, { path: IMAGES })).status).toBe(502)
    await expectNothingCharged(setup, client)
    await aRoute(setup, model, { type: 46 })
    expect((await post(setup, client, body, { path: IMAGES })).status).toBe(200)
    await upstream.close()
  })

  test('Replicate: rejects OpenAI’s image options that its models do not have', async () => {
    made += 1
    const model = `black-forest-labs/flux-${made}`
    await aRoute(setup, model, { type: 46 })
    const body = { model, prompt: 'a cat', quality: 'hd' }
    const answer = await post(setup, client, body, { path: IMAGES })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('quality')
    await expectNothingCharged(setup, client)
  })

  test('DeepL: translates the last message to the language that the model names', async () => {
    const model = 'deepl-en-gb-less'
    await aRoute(setup, model, { type: 38, key: 'a-key:fx' })
    const messages = [
      { role: 'system', content: 'You translate.' },
      { role: 'user', content: 'Eins' },
      { role: 'assistant', content: 'One' },
      { role: 'user', content: '五個字元 🎉' },
    ]
    const answer = await post(setup, client, { model, messages, temperature: 0 })
    expect(answer.status).toBe(200)
    const [seen] = setup.upstream.seen()
    expect(seen?.url).toBe('/v2/translate')
    expect(seen?.headers['authorization']).toBe('DeepL-Auth-Key a-key:fx')
    expect(seen?.body).toEqual({
      text: ['五個字元 🎉'],
      target_lang: 'EN-GB',
      show_billed_characters: true,
      formality: 'prefer_less',
    })
    expect((await bookedCall(setup, requestIdOf(answer))).detail).toMatchObject({
      prompt_tokens: 6,
      completion_tokens: 0,
    })
  })

  test('DeepL: reserves and charges characters, for any token limit of the client', async () => {
    made += 1
    const model = `held${made}-ja`
    await aRoute(setup, model, { type: 38, words: 'no-usage' })
    const messages = [{ role: 'user', content: 'Good morning 🎉'.repeat(200) }]
    for (const isStream of [false, true]) {
      const body = { model, messages, max_tokens: 1, stream: isStream }
      const poor = await aClient(setup, { quota: 2799 })
      expect((await post(setup, poor, body)).status).toBe(403)
      const answer = await post(setup, await aClient(setup, { quota: 2800 }), body)
      expect((await bookedCall(setup, requestIdOf(answer))).detail).toMatchObject({
        prompt_tokens: 2800,
        completion_tokens: 0,
        usage_source: 'estimated',
      })
    }
  })

  test('DeepL: treats an exhausted character quota as an exhausted account', async () => {
    made += 1
    const model = `spent${made}-ja`
    await aRoute(setup, model, { type: 38, words: 'fail-456', priority: 9 })
    expect((await post(setup, client, bodyOf(model, false))).status).toBe(503)
    await aRoute(setup, model, { type: 38 })
    expect((await post(setup, client, bodyOf(model, false))).status).toBe(200)
  })
})
