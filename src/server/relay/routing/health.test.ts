import { beforeAll, describe, expect, test } from 'vitest'
import { ChannelStatus } from '../../../contract/channel.ts'
import { anAdmin, type TestUser } from '../../test/factories.ts'
import { onSqlite } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  chatBody,
  expectRefusal,
  openCall,
  post,
  requestIdOf,
  stream,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import type { TestAnswer } from '../../test/test-app.ts'
import { useRelaySetup } from '../../test/use-relay.ts'
import { FAILURES_TO_OPEN, OPEN_MS } from './circuit.ts'

onSqlite('calls keep away from channels in trouble', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), {
    open,
    // Only a silent upstream reaches them; the others may take longer on a busy machine.
    settings: { RELAY_FIRST_BYTE_TIMEOUT: '5', RELAY_WHOLE_ANSWER_TIMEOUT: '5' },
  })

  const places = new Map<number, string>()
  /** A channel that fails in this way until it is changed. */
  async function aFailing(model: string, words: string, priority = 0): Promise<number> {
    const place = `at-${model}`
    const id = await aRoute(setup, model, { words: place, priority })
    places.set(id, `~${place}`)
    turn(id, words)
    return id
  }
  /** The upstream's behaviour changes, its URL does not. */
  function turn(id: number, words: string): void {
    setup.troubles.set(places.get(id) ?? '', words)
  }

  /** A channel that fails in this way precedes one that works. */
  async function failingFirst(words: string) {
    const model = aModel()
    const id = await aFailing(model, words, 9)
    await aRoute(setup, model)
    const client = await aClient(setup)
    setup.upstream.seen()
    return { id, model, client, ask: () => post(setup, client, chatBody(model)) }
  }
  /** Outcomes of the attempts by channel. */
  const addressesSeen = () =>
    setup.upstream.seen().map(({ url, words }) => {
      const [, place = ''] = url.split('/')
      if (!place.startsWith('~at-')) return place
      return words === '' ? 'v1' : `~${words}`
    })

  test('a throttled channel is not asked before its Retry-After is over', async () => {
    const { model, client, ask } = await failingFirst('fail-429-retry-60')
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(200)
    expect((await stream(setup, client, chatBody(model))).status).toBe(200)
    expect(addressesSeen()).toEqual(['~fail-429-retry-60', 'v1', 'v1', 'v1'])
    setup.clock.lapseSeconds(60)
    expect((await ask()).status).toBe(200)
    expect(addressesSeen()).toEqual(['~fail-429-retry-60', 'v1'])
  })

  test('nor is a channel of Gemini, which sends the delay in the body', async () => {
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

  // Each failed call reveals one more failing channel of the four, the first call two.
  test('a retry uses a channel without known failures', async () => {
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

  test('if all channels are throttled, the client receives the shortest delay and no upstream is asked', async () => {
    const model = aModel()
    await aRoute(setup, model, { words: 'fail-429-retry-90' })
    await aRoute(setup, model, { words: 'fail-503-retry-30' })
    const client = await aClient(setup)
    expect((await post(setup, client, chatBody(model))).status).toBeGreaterThanOrEqual(429)
    setup.upstream.seen()
    const answer = await post(setup, client, chatBody(model))
    expectRefusal(answer, { code: 'upstream_busy', status: 429 })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
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

  test('broken streams count, too', async () => {
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

  /** The channel serves another model as well; a channel after it stamps its responses. */
  async function alsoServing(id: number): Promise<string> {
    const other = aModel()
    await setup.database.write
      .insertInto('abilities')
      .values({ group: 'default', model: other, channel_id: id, enabled: true, priority: 9 })
      .execute()
    await aRoute(setup, other, { words: 'stamp' })
    return other
  }

  test('failures of one model do not affect calls for another', async () => {
    const { id, client, ask } = await failingFirst('fail-500')
    const other = await alsoServing(id)
    for (let call = 0; call < FAILURES_TO_OPEN; call += 1) await ask()
    turn(id, '')
    setup.upstream.seen()
    expect((await post(setup, client, chatBody(other))).status).toBe(200)
    expect(addressesSeen()).toEqual(['v1'])
  })

  // A silent upstream may be reasoning: models take long, connections do not.
  test.each([
    ['no connection keeps calls for every model away', 'fail-cut', '~stamp'],
    ['silence keeps calls for its model away, and no others', 'hang', 'v1'],
  ])('%s: %s', async (_what, words, place) => {
    const { id, client, ask } = await failingFirst(words)
    const other = await alsoServing(id)
    await Promise.all(Array.from({ length: FAILURES_TO_OPEN }, ask))
    turn(id, '')
    setup.upstream.seen()
    expect((await ask()).status).toBe(200)
    expect(addressesSeen()).toEqual(['v1'])
    const { log } = await bookedCall(setup, requestIdOf(await ask()))
    expect(log.channel_id).not.toBe(id)
    setup.upstream.seen()
    expect((await post(setup, client, chatBody(other))).status).toBe(200)
    expect(addressesSeen()).toEqual([place])
  })

  test('a failing channel is healthy again when it begins to respond', async () => {
    const { id, model, client, ask } = await failingFirst('fail-500')
    for (let call = 0; call < FAILURES_TO_OPEN; call += 1) await ask()
    turn(id, 'hang-mid-stream')
    setup.clock.lapseSeconds(OPEN_MS / 1000)
    const trial = await openCall(setup, client, chatBody(model, { stream: true }))
    expect(trial.status).toBe(200)
    turn(id, '')
    expect((await bookedCall(setup, requestIdOf(await ask()))).log.channel_id).toBe(id)
    trial.leave()
  })

  test('audio that has begun counts as well', async () => {
    const { id, model, client } = await failingFirst('fail-500')
    const say = { path: '/v1/audio/speech' }
    const body = { model, input: 'hello', voice: 'a' }
    for (let call = 0; call < FAILURES_TO_OPEN; call += 1) await post(setup, client, body, say)
    turn(id, 'hang-mid-stream')
    setup.clock.lapseSeconds(OPEN_MS / 1000)
    const trial = await openCall(setup, client, body, say)
    turn(id, '')
    const answer = await post(setup, client, body, say)
    expect((await bookedCall(setup, requestIdOf(answer))).log.channel_id).toBe(id)
    trial.leave()
  })

  describe('until an admin or a test marks it healthy', () => {
    const TROUBLES = [
      ['fail-429-retry-600', 1],
      ['fail-cut', FAILURES_TO_OPEN],
      ['fail-500', FAILURES_TO_OPEN],
    ] as const
    let admin: TestUser
    beforeAll(async () => {
      admin = await anAdmin(setup)
    })
    async function change(body: object, path = '/api/channel/', method = 'PUT'): Promise<void> {
      const answer = await setup.call(method, path, { as: admin, body })
      expect(answer.json).toMatchObject({ success: true })
    }
    const switched = async (id: number, ...statuses: number[]): Promise<void> => {
      for (const status of statuses) await change({ id, status })
    }
    const { enabled, disabled } = ChannelStatus

    /** A channel that failed and has recovered without any call since. */
    async function kept(words: string, calls: number) {
      const { id, model, ask } = await failingFirst(words)
      for (let call = 0; call < calls; call += 1) await ask()
      turn(id, '')
      const isServing = async () =>
        (await bookedCall(setup, requestIdOf(await ask()))).log.channel_id === id
      expect(await isServing()).toBe(false)
      return { id, model, isServing }
    }

    const ENDS: [string, (id: number) => Promise<unknown>][] = [
      ['a new key', (id) => change({ id, key: 'sk-new' })],
      ['a new address', (id) => change({ id, base_url: setup.upstream.url, key: 'sk-upstream' })],
      ['another proxy or header', (id) => change({ id, config: '{"headers":{"x-a":"b"}}' })],
      [
        'a test that it passes',
        (id) => setup.call('GET', `/api/channel/test/${id}`, { as: admin }),
      ],
      ['being enabled', (id) => switched(id, disabled, enabled)],
      [
        'being enabled with others',
        async (id) => {
          for (const action of ['disable', 'enable']) {
            await change({ ids: [id], action }, '/api/channel/batch', 'POST')
          }
        },
      ],
    ]
    test.each(ENDS.flatMap(([what, end]) => TROUBLES.map((of) => [what, ...of, end] as const)))(
      'by %s, after %s',
      async (_what, words, calls, end) => {
        const { id, isServing } = await kept(words, calls)
        await end(id)
        expect(await isServing()).toBe(true)
      },
    )

    test.each([
      ['a new weight', (id: number) => change({ id, weight: 5 })],
      ['being enabled when it is', (id: number) => switched(id, enabled)],
      [
        'a test of another model',
        (id: number) => setup.call('GET', `/api/channel/test/${id}?model=other`, { as: admin }),
      ],
      [
        'a test that fails',
        async (id: number) => {
          turn(id, 'fail-503')
          await setup.call('GET', `/api/channel/test/${id}`, { as: admin })
          turn(id, '')
        },
      ],
    ])('not by %s', async (_what, act) => {
      const { id, isServing } = await kept('fail-429-retry-600', 1)
      await act(id)
      expect(await isServing()).toBe(false)
    })
  })

  test('the only channel is asked anyway, and one success restores it', async () => {
    const model = aModel()
    const id = await aFailing(model, 'fail-500')
    const client = await aClient(setup)
    for (let call = 0; call < FAILURES_TO_OPEN + 1; call += 1) {
      expect((await post(setup, client, chatBody(model))).status).toBe(500)
    }
    turn(id, '')
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    await aRoute(setup, model, { words: 'stamp', priority: -1 })
    setup.upstream.seen()
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    expect(addressesSeen()).toEqual(['v1'])
  })
})
