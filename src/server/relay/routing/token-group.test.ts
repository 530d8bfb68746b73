import { beforeEach, expect, test } from 'vitest'
import { NEVER_EXPIRES } from '../../../contract/token.ts'
import { Role } from '../../../contract/user.ts'
import { anAdmin, aUser, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { createTestDatabase } from '../../test/postgres.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  chatBody,
  eventually,
  expectRefusal,
  expectRefused,
  heldPoints,
  openCall,
  post,
  requestIdOf,
  startRelay,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'
import { expectWithinASecond } from '../../test/within-a-second.ts'

interface Owned {
  user: TestUser
  id: number
  key: string
}

/** A user in `default` with a token of the group. */
async function aGrouped(
  setup: RelaySetup,
  group: string,
  over: { role?: number } = {},
): Promise<Owned> {
  const user = await aUser(setup, { quota: 1_000_000, ...over })
  const body = { unlimited_quota: true, group }
  const { data } = await setup.call('POST', '/api/token/', { as: user, body })
  const { id, key } = Object(data)
  return { user, id: Number(id), key: String(key) }
}

/** Changes only the group. */
const regroup = (setup: RelaySetup, { user, id }: Owned, group: string) => {
  const body = { id, unlimited_quota: true, expired_time: NEVER_EXPIRES, group }
  return setup.call('PUT', '/api/token/', { as: user, body })
}

const openTo = (setup: RelaySetup, groups: object) =>
  setup.app.options.set('UserUsableGroups', JSON.stringify(groups))

const notAllowed = {
  code: 'token_group_not_allowed',
  status: 403,
  params: { group: 'fast' },
} as const

forEachDatabase('a token with a group', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { open })
  beforeEach(async () => {
    await setup.app.options.set('GroupRatio', '{"default":1,"fast":2.5}')
    await openTo(setup, { fast: 'Faster' })
    setup.upstream.seen()
  })

  const booked = async (own: { key: string }, model: string) => {
    const answer = await post(setup, own, chatBody(model))
    expect(answer.status).toBe(200)
    return bookedCall(setup, requestIdOf(answer))
  }

  test('is served by the channels of that group, at its ratio', async () => {
    const model = aModel()
    const usual = await aRoute(setup, model, { priority: 9 })
    const fast = await aRoute(setup, model, { group: 'fast' })
    const own = await aGrouped(setup, 'fast')
    const call = await booked(own, model)
    const plain = await booked(await aGrouped(setup, ''), model)
    expect([call.log.channel_id, plain.log.channel_id]).toEqual([fast, usual])
    expect(call.detail).toMatchObject({ group: 'fast', group_ratio: '2.5' })
    expect(call.quota).toBe(plain.quota * 2.5)
    // A removed group no longer applies from the next call on.
    await regroup(setup, own, '')
    const after = await booked(own, model)
    expect([after.log.channel_id, after.detail['group']]).toEqual([usual, 'default'])
  })

  test('reserves at the group’s ratio', async () => {
    const model = aModel('chunks-400+slow-chunk-5')
    await aRoute(setup, model, { group: 'default,fast' })
    const heldFor = async (group: string): Promise<number> => {
      const own = await aGrouped(setup, group)
      const answer = await openCall(setup, own, chatBody(model, { stream: true, max_tokens: 100 }))
      const held = await heldPoints(setup, own.user.id)
      answer.leave()
      await eventually(async () => (await heldPoints(setup, own.user.id)) === 0, 'the settlement')
      return held
    }
    const usual = await heldFor('')
    expect(usual).toBeGreaterThan(100)
    expect(await heldFor('fast')).toBe(Math.ceil(usual * 2.5))
  })

  test('is tried in that group only, even if others serve the model', async () => {
    const model = aModel()
    await aRoute(setup, model, { group: 'fast', words: 'fail-500' })
    await aRoute(setup, model, { group: 'default' })
    const own = await aGrouped(setup, 'fast')
    expect((await post(setup, own, chatBody(model))).status).toBe(500)
    expect(setup.upstream.seen()).toHaveLength(1)
    const other = aModel()
    await aRoute(setup, other)
    const params = { group: 'fast', model: other }
    await expectRefused(setup, own, chatBody(other), { code: 'no_channel', status: 503, params })
  })

  test('is rejected if the group is closed or has no ratio, or its owner leaves it', async () => {
    const model = aModel()
    await aRoute(setup, model, { group: 'default,fast' })
    const own = await aGrouped(setup, 'fast')
    const refused = () =>
      expectRefused(setup, own, chatBody(model), {
        ...notAllowed,
        wireCode: 'token_group_not_allowed',
      })
    await openTo(setup, {})
    await refused()
    expectRefusal(
      await setup.call('GET', '/v1/models', { headers: { authorization: `Bearer ${own.key}` } }),
      notAllowed,
    )
    await openTo(setup, { fast: '' })
    await setup.app.options.set('GroupRatio', '{"default":1}')
    await refused()
    // The owner's own groups need neither.
    const { database } = setup
    const moveTo = async (group: string) => {
      await database.write
        .updateTable('users')
        .set({ group })
        .where('id', '=', own.user.id)
        .execute()
      await database.announce(`user:${own.user.id}`)
    }
    await moveTo('other,fast')
    expect((await booked(own, model)).detail).toMatchObject({ group: 'fast', group_ratio: '1' })
    await moveTo('other')
    await refused()
    expect(setup.upstream.seen()).toHaveLength(1)
  })

  test('lists the models of that group', async () => {
    const [ours, theirs] = [aModel(), aModel()]
    await aRoute(setup, ours, { group: 'fast' })
    await aRoute(setup, theirs)
    const { key } = await aGrouped(setup, 'fast')
    const headers = { authorization: `Bearer ${key}` }
    const { json } = await setup.call('GET', '/v1/models', { headers })
    const ids = [Object(json).data].flat().map((model) => Object(model).id)
    expect(ids).toContain(ours)
    expect(ids).not.toContain(theirs)
  })

  test('pays its ratio on a pinned channel too', async () => {
    const model = aModel()
    const pinned = await aRoute(setup, model)
    const { key } = await aGrouped(setup, 'fast', { role: Role.admin })
    const call = await booked({ key: `${key}-${pinned}` }, model)
    expect([call.log.channel_id, call.detail['group_ratio']]).toEqual([pinned, '2.5'])
  })

  test('is used by a forecast', async () => {
    const model = aModel()
    const fast = await aRoute(setup, model, { group: 'fast' })
    await aRoute(setup, model)
    const { id } = await aGrouped(setup, 'fast')
    const admin = await anAdmin(setup)
    const forecast = async () => {
      const body = { model, token: String(id) }
      return Object((await setup.call('POST', '/api/channel/route', { as: admin, body })).data)
    }
    expect(await forecast()).toMatchObject({
      refusal: null,
      groups: ['fast'],
      channels: [
        { channel_id: fast, probability: 1, price: { group_ratio: '2.5' } },
        { state: 'group' },
      ],
    })
    await openTo(setup, {})
    expect((await forecast()).refusal.code).toBe('token_group_not_allowed')
  })
})

test('changes of groups apply to other processes within a second', async () => {
  const { url, drop } = await createTestDatabase()
  const open = async () => ({ engine: 'postgres' as const, url })
  const first = await startRelay(open)
  const second = await startRelay(open)
  try {
    const model = aModel()
    await aRoute(first, model, { group: 'default,vip' })
    await openTo(first, { vip: '' })
    const own = await aGrouped(first, 'vip')
    const statusIn = async () => (await post(second, own, chatBody(model))).status
    await expectWithinASecond(async () => expect(await statusIn()).toBe(200))
    await openTo(first, {})
    await expectWithinASecond(async () => expect(await statusIn()).toBe(403))
    await regroup(first, own, '')
    await expectWithinASecond(async () => expect(await statusIn()).toBe(200))
  } finally {
    await first.close()
    await second.close()
    await drop()
  }
})
