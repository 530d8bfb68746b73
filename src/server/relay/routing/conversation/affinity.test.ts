import { describe, expect, test } from 'vitest'
import { ChannelStatus } from '../../../../contract/channel.ts'
import type { RouteForecast, RouteTrace } from '../../../../contract/route-api.ts'
import { Role } from '../../../../contract/user.ts'
import { anAdmin } from '../../../test/factories.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  eventually,
  post,
  requestIdOf,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'
import { scanBody } from '../../json/body-scan.ts'
import {
  CONVERSATIONS_MAX,
  conversationOf,
  createAffinity,
  KEPT_MS,
  type Affinity,
} from './affinity.ts'
import type { RoutableChannel } from '../choose-channel.ts'

/** With this many calls, all of them using one channel randomly is implausible. */
const MANY = 20

describe('a conversation', () => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now))

  /** Two channels for a model, distinguished by their keys. */
  async function twoChannels(over: { type?: number } = {}) {
    const model = aModel()
    const keys = ['sk-first', 'sk-second'] as const
    const [first, second] = [
      await aRoute(setup, model, { key: keys[0], ...over }),
      await aRoute(setup, model, { key: keys[1], ...over }),
    ]
    const idOf = (key: string | undefined): number => (key === keys[0] ? first : second)
    return { model, first, second, idOf }
  }

  /** Keys that the upstream has received since the last check. */
  const keysSeen = (): string[] =>
    setup.upstream
      .seen()
      .map(({ headers }) =>
        String(headers['x-api-key'] ?? headers.authorization).replace('Bearer ', ''),
      )

  async function ask(model: string, key: string, who: Pick<RelayClient, 'key'> = client) {
    const answer = await post(setup, who, chatBody(model, { prompt_cache_key: key }))
    expect(answer.status).toBe(200)
    return answer
  }

  /** Sends this many calls; returns the distinct keys used. */
  async function askMany(model: string, keyOf: (index: number) => string): Promise<string[]> {
    for (let index = 0; index < MANY; index += 1) await ask(model, keyOf(index))
    return [...new Set(keysSeen())].toSorted()
  }

  const change = async (body: object) => {
    const answer = await setup.call('PUT', '/api/channel/', { as: await anAdmin(setup), body })
    expect(answer.json).toMatchObject({ success: true })
  }

  test.each([
    ['/v1/chat/completions', 1, { prompt_cache_key: 'k' }],
    ['/v1/responses', 1, { input: 'x', messages: undefined, prompt_cache_key: 'k' }],
    ['/v1/messages', 14, { max_tokens: 9, metadata: { user_id: 'user_1_session_1' } }],
    ['/v1/messages', 1, { max_tokens: 9, metadata: { user_id: 'user_1_session_1' } }],
  ])('stays with its channel: %s of type %i', async (path, type, members) => {
    const { model } = await twoChannels({ type })
    for (let index = 0; index < MANY; index += 1) {
      const answer = await post(setup, client, chatBody(model, members), { path })
      expect(answer.status).toBe(200)
    }
    const seen = keysSeen()
    expect(seen).toHaveLength(MANY)
    expect(new Set(seen).size).toBe(1)
  })

  test('is distributed among channels, as are calls without a conversation', async () => {
    const { model } = await twoChannels()
    expect(await askMany(model, (index) => `conversation ${index}`)).toHaveLength(2)
    expect(await askMany(model, () => '')).toHaveLength(2)
  })

  test('belongs to its user: another user’s conversation of the same name is independent', async () => {
    const { model } = await twoChannels()
    for (let index = 0; index < MANY; index += 1) await ask(model, 'k', await aClient(setup))
    expect(new Set(keysSeen()).size).toBe(2)
  })

  test('moves when its channel is disabled, and then stays', async () => {
    const { model, idOf } = await twoChannels()
    const [before] = await askMany(model, () => 'k')
    await change({ id: idOf(before), status: ChannelStatus.disabled })
    const [after, ...others] = await askMany(model, () => 'k')
    expect(others).toEqual([])
    expect(after).not.toBe(before)
    await change({ id: idOf(before), status: ChannelStatus.enabled })
    expect(await askMany(model, () => 'k')).toEqual([after])
  })

  test('moves in the call in which its channel fails, as its trace shows', async () => {
    const { model, idOf } = await twoChannels()
    const [before = ''] = await askMany(model, () => 'k')
    const admin = await anAdmin(setup)
    const bad = `${setup.upstream.url}/~fail-500`
    await change({ id: idOf(before), base_url: bad, key: before })
    const requestId = requestIdOf(await ask(model, 'k'))
    const trace = await eventually(async () => {
      const answer = await setup.call('GET', `/api/channel/route/${requestId}`, { as: admin })
      // The contract's own shape.
      return answer.json['success'] === true ? (answer.data as RouteTrace) : null
    }, 'the trace')
    expect(trace.attempts.map(({ channel_id, stays }) => [channel_id, stays])).toEqual([
      [idOf(before), true],
      [expect.not.toBeOneOf([idOf(before)]), undefined],
    ])
    await change({ id: idOf(before), base_url: setup.upstream.url, key: before })
    keysSeen()
    const after = await askMany(model, () => 'k')
    expect(after).toHaveLength(1)
    expect(after).not.toContain(before)
  })

  test('uses the channel named by an administrator, and returns afterwards', async () => {
    const { model, idOf, first, second } = await twoChannels()
    const admin = await aClient(setup, { role: Role.admin })
    await ask(model, 'k', admin)
    const [before = ''] = keysSeen()
    const other = idOf(before) === first ? second : first
    await ask(model, 'k', { key: `${admin.key}-${other}` })
    expect(idOf(keysSeen()[0])).toBe(other)
    for (let index = 0; index < MANY; index += 1) await ask(model, 'k', admin)
    expect(new Set(keysSeen())).toEqual(new Set([before]))
  })

  test('is shown by the forecast', async () => {
    const { model, idOf } = await twoChannels()
    await ask(model, 'k')
    const id = idOf(keysSeen()[0])
    const as = await anAdmin(setup)
    const forecast = async (conversation: string) => {
      const body = { model, user: String(client.userId), conversation }
      const { data } = await setup.call('POST', '/api/channel/route', { as, body })
      // The contract's own shape.
      const { channels } = data as RouteForecast
      return channels.map(({ channel_id, probability, stays }) => [channel_id, probability, stays])
    }
    expect(await forecast('k')).toContainEqual([id, 1, true])
    expect(await forecast('k')).toContainEqual([expect.not.toBeOneOf([id]), 0, false])
    expect(await forecast('')).toContainEqual([id, 0.5, false])
    // An unknown conversation is assigned by its name.
    const told = await forecast('another')
    expect(told.map(([, probability, stays]) => [probability, stays]).toSorted()).toEqual([
      [0, false],
      [1, false],
    ])
    await ask(model, 'another')
    expect(told).toContainEqual([idOf(keysSeen()[0]), 1, false])
  })

  test('that has moved returns after an hour without calls', async () => {
    const { model, idOf } = await twoChannels()
    const [home] = await askMany(model, () => 'k')
    await change({ id: idOf(home), status: ChannelStatus.disabled })
    const [after] = await askMany(model, () => 'k')
    await change({ id: idOf(home), status: ChannelStatus.enabled })
    setup.clock.lapseSeconds(KEPT_MS / 1000 - 1)
    expect(await askMany(model, () => 'k')).toEqual([after])
    setup.clock.lapseSeconds(KEPT_MS / 1000)
    expect(await askMany(model, () => 'k')).toEqual([home])
  })

  /** This many turns of one conversation without a client-supplied id. */
  const turnsOf = (question: string, count: number): object[][] =>
    Array.from({ length: count }, (_, turn) => [
      { role: 'user', content: question },
      ...Array.from({ length: turn + 1 }, () => [
        { role: 'assistant', content: 'So.' },
        { role: 'user', content: 'And?' },
      ]).flat(),
    ])

  test.each([
    ['/v1/chat/completions', 1, (messages: object[]) => ({ messages })],
    ['/v1/responses', 1, (input: object[]) => ({ input, messages: undefined })],
    ['/v1/messages', 14, (messages: object[]) => ({ max_tokens: 9, messages })],
  ])('without a name stays as well: %s of type %i', async (path, type, members) => {
    const { model } = await twoChannels({ type })
    const used: Set<string>[] = []
    for (const question of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n']) {
      for (const turn of turnsOf(question, 3)) {
        const answer = await post(setup, client, chatBody(model, members(turn)), { path })
        expect(answer.status).toBe(200)
      }
      used.push(new Set(keysSeen()))
    }
    expect(used.map(({ size }) => size)).toEqual(used.map(() => 1))
    // Conversations are distributed among channels.
    expect(new Set(used.flatMap((keys) => [...keys])).size).toBe(2)
  })
})

describe('remembered conversations', () => {
  // Only these members are read.
  const channel = { id: 7, keyId: 'k' } as RoutableChannel
  const place = { channelId: 7, keyId: 'k' }

  function affinityAt(): { affinity: Affinity; clock: { nowMs: number } } {
    const clock = { nowMs: 1000 }
    return { affinity: createAffinity(() => clock.nowMs), clock }
  }

  test('last an hour from the last use', () => {
    const { affinity, clock } = affinityAt()
    affinity.remember('a', channel)
    clock.nowMs += KEPT_MS - 1
    expect(affinity.placeOf('a')).toMatchObject(place)
    affinity.remember('a', channel)
    clock.nowMs += KEPT_MS - 1
    expect(affinity.placeOf('a')).toMatchObject(place)
    clock.nowMs += 1
    expect(affinity.placeOf('a')).toBeNull()
  })

  test('are limited; the least recently used are dropped', () => {
    const { affinity } = affinityAt()
    for (let index = 0; index < CONVERSATIONS_MAX; index += 1) {
      affinity.remember(String(index), channel)
    }
    affinity.remember('0', channel)
    expect(affinity.placeOf('1')).toMatchObject(place)
    affinity.remember('one more', channel)
    expect(affinity.placeOf('0')).toMatchObject(place)
    expect(affinity.placeOf('1')).toBeNull()
    expect(affinity.placeOf('2')).toMatchObject(place)
  })
})

describe('the key of a conversation', () => {
  const named = (
    members: object,
    {
      dialect = 'openai',
      ...over
    }: {
      dialect?: 'openai' | 'anthropic' | 'gemini'
      id?: number
      group?: string
      model?: string
    } = {},
  ) => {
    const body = scanBody(Buffer.from(JSON.stringify(members)))
    if (!body.ok) throw new Error(body.reason)
    const { id = 1, group = 'default', model = 'm' } = over
    return conversationOf(dialect, body, { userId: id, group, model })
  }

  test('is a hash that includes user, group and model', () => {
    const body = { prompt_cache_key: 'secret' }
    expect(named(body)).toMatch(/^[0-9a-f]{64}$/)
    expect(named(body)).toBe(named({ model: 'm', ...body }))
    const messages = ['user', 'assistant'].map((role) => ({ role, content: 'x' }))
    for (const other of [{ id: 2 }, { group: 'vip' }, { model: 'n' }]) {
      expect(named(body, other)).not.toBe(named(body))
      expect(named({ messages }, other)).not.toBe(named({ messages }))
    }
  })

  test('is the beginning only without a client-supplied id', () => {
    const messages = ['user', 'assistant'].map((role) => ({ role, content: 'x' }))
    const body = { prompt_cache_key: 'k' }
    expect(named({ ...body, messages })).toBe(named(body))
    expect(named({ messages })).toMatch(/^[0-9a-f]{64}$/)
    expect(named({ messages })).not.toBe(named(body))
  })

  test.each([
    ['none', {}, 'openai'],
    ['null', { prompt_cache_key: null }, 'openai'],
    ['no text', { prompt_cache_key: 5 }, 'openai'],
    ['empty', { prompt_cache_key: '' }, 'openai'],
    ['endless', { prompt_cache_key: 'x'.repeat(5000) }, 'openai'],
    ['a person’s', { user: 'ann' }, 'openai'],
    ['another dialect’s', { prompt_cache_key: 'k' }, 'anthropic'],
    ['no object', { metadata: 'x' }, 'anthropic'],
    ['not in it', { metadata: { other: 'x' } }, 'anthropic'],
    ['of Gemini', { prompt_cache_key: 'k', metadata: { user_id: 'u' } }, 'gemini'],
  ] as const)('is none where it is %s', (_what, members, dialect) => {
    expect(named(members, { dialect })).toBeNull()
  })
})
