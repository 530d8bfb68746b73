import { expect, test } from 'vitest'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  expectRefusal,
  post,
  stream,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import type { TestAnswer } from '../../test/test-app.ts'
import { useRelaySetup } from '../../test/use-relay.ts'
import { FAILURES_TO_OPEN } from './circuit.ts'

forEachDatabase('calls keep away from channels in trouble', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), {
    open,
    settings: { RELAY_FIRST_BYTE_TIMEOUT: '1' },
  })

  /** A channel that fails in this way stands before one that works. */
  async function failingFirst(words: string) {
    const model = aModel()
    const id = await aRoute(setup, model, { words, priority: 9 })
    await aRoute(setup, model)
    const client = await aClient(setup)
    setup.upstream.seen()
    return { id, model, client, ask: () => post(setup, client, chatBody(model)) }
  }
  const addressesSeen = () => setup.upstream.seen().map(({ url }) => url.split('/')[1])
  async function move(id: number, words: string): Promise<void> {
    const { database, upstream } = setup
    const base_url = words === '' ? upstream.url : `${upstream.url}/~${words}`
    await database.write.updateTable('channels').set({ base_url }).where('id', '=', id).execute()
    await database.announce('channels')
  }

  test('nobody is asked before the time that it has named', async () => {
    const { model, client, ask } = await failingFirst('fail-429-retry-60')
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(200)
    expect((await stream(setup, client, chatBody(model))).status).toBe(200)
    expect(addressesSeen()).toEqual(['~fail-429-retry-60', 'v1', 'v1', 'v1'])
    setup.clock.lapseSeconds(60)
    expect((await ask()).status).toBe(200)
    expect(addressesSeen()).toEqual(['~fail-429-retry-60', 'v1'])
  })

  test('nor one of Gemini, which names it in its words', async () => {
    const model = aModel()
    await aRoute(setup, model, { words: 'fail-429-retry-60', type: 24 })
    const client = await aClient(setup)
    const ask = (): Promise<TestAnswer> => {
      const body = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
      return post(setup, client, body, { path: `/v1beta/models/${model}:generateContent` })
    }
    setup.upstream.seen()
    const told = await ask()
    expect(told.headers['retry-after']).toBe('60')
    expect(told.json).toMatchObject({ error: { code: 429, details: [{ retryDelay: '60s' }] } })
    expect((await ask()).status).toBe(429)
    expect(addressesSeen()).toEqual(['~fail-429-retry-60'])
  })

  // Each call that fails all the same has found out about one more of the four, the first of two.
  test('a call that has failed once asks somebody of whom nothing bad is known', async () => {
    await setup.app.options.set('RetryTimes', '1')
    const model = aModel()
    for (let index = 0; index < 4; index += 1) await aRoute(setup, model, { words: 'fail-500' })
    await aRoute(setup, model)
    const client = await aClient(setup)
    let refused = 0
    for (let call = 0; call < 20; call += 1) {
      if ((await post(setup, client, chatBody(model))).status !== 200) refused += 1
    }
    await setup.app.options.set('RetryTimes', '2')
    expect(refused).toBeLessThanOrEqual(3)
  })

  test('where all have named a time, the client hears the shortest and no upstream is asked', async () => {
    const model = aModel()
    await aRoute(setup, model, { words: 'fail-429-retry-90' })
    await aRoute(setup, model, { words: 'fail-503-retry-30' })
    const client = await aClient(setup)
    expect((await post(setup, client, chatBody(model))).status).toBeGreaterThanOrEqual(429)
    setup.upstream.seen()
    const answer = await post(setup, client, chatBody(model))
    expectRefusal(answer, { code: 'upstream_busy', status: 429 })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(25)
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(30)
    expect(addressesSeen()).toEqual([])
  })

  test.each(['fail-500', 'fail-cut', 'fail-html', 'fail-429'])(
    'after enough failures it is left alone: %s',
    async (words) => {
      const { ask } = await failingFirst(words)
      for (let call = 0; call < FAILURES_TO_OPEN + 3; call += 1) {
        expect((await ask()).status).toBe(200)
      }
      const failing = addressesSeen().filter((place) => place === `~${words}`)
      expect(failing).toHaveLength(FAILURES_TO_OPEN)
    },
  )

  test('streams that break off in the middle count too', async () => {
    const { model, client } = await failingFirst('cut-after-2')
    for (let call = 0; call < FAILURES_TO_OPEN + 2; call += 1) {
      await stream(setup, client, chatBody(model))
    }
    const failing = addressesSeen().filter((place) => place === '~cut-after-2')
    expect(failing).toHaveLength(FAILURES_TO_OPEN)
  })

  test.each(['fail-400', 'fail-413', 'fail-422'])(
    'what the request is to blame for does not count: %s',
    async (words) => {
      const { ask } = await failingFirst(words)
      for (let call = 0; call < FAILURES_TO_OPEN + 3; call += 1) await ask()
      expect(new Set(addressesSeen())).toEqual(new Set([`~${words}`]))
    },
  )

  /** The channel serves another model as well, and a stamping one behind it does. */
  async function alsoServing(id: number): Promise<string> {
    const other = aModel()
    await setup.database.write
      .insertInto('abilities')
      .values({ group: 'default', model: other, channel_id: id, enabled: true, priority: 9 })
      .execute()
    await aRoute(setup, other, { words: 'stamp' })
    return other
  }

  test('trouble with one model does not keep calls for another away', async () => {
    const { id, client, ask } = await failingFirst('fail-500')
    const other = await alsoServing(id)
    for (let call = 0; call < FAILURES_TO_OPEN; call += 1) await ask()
    await move(id, '')
    setup.upstream.seen()
    expect((await post(setup, client, chatBody(other))).status).toBe(200)
    expect(addressesSeen()).toEqual(['v1'])
  })

  test.each(['fail-cut', 'hang'])(
    'no connection, or none that speaks, keeps calls for every model away: %s',
    async (words) => {
      const { id, client, ask } = await failingFirst(words)
      const other = await alsoServing(id)
      await Promise.all(Array.from({ length: FAILURES_TO_OPEN }, ask))
      await move(id, '')
      setup.upstream.seen()
      expect((await post(setup, client, chatBody(other))).status).toBe(200)
      expect(addressesSeen()).toEqual(['~stamp'])
    },
  )

  test('the only channel is asked all the same, and one good answer brings it back', async () => {
    const model = aModel()
    const id = await aRoute(setup, model, { words: 'fail-500' })
    const client = await aClient(setup)
    for (let call = 0; call < FAILURES_TO_OPEN + 1; call += 1) {
      expect((await post(setup, client, chatBody(model))).status).toBe(500)
    }
    await move(id, '')
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    await aRoute(setup, model, { words: 'stamp', priority: -1 })
    setup.upstream.seen()
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    expect(addressesSeen()).toEqual(['v1'])
  })
})
