import { beforeAll, describe, expect, test } from 'vitest'
import { Role, UserStatus } from '../../contract/user.ts'
import { TokenStatus } from '../../contract/token.ts'
import { aToken } from '../test/factories.ts'
import { onSqlite } from '../test/for-each-database.ts'
import { startHeldUpstream } from '../test/held-upstream.ts'
import { approximateTokens } from './count/estimate.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  chatBody,
  eventually,
  expectNothingCharged,
  expectRefusal,
  expectRefused,
  openCall,
  post,
  QUESTION,
  requestIdOf,
  startRelay,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'
import { expectWithinASecond } from '../test/within-a-second.ts'

const CHAT = '/v1/chat/completions'
const promptEstimate = approximateTokens(JSON.stringify(QUESTION).length)
const ENGLISH = { 'accept-language': 'en-US,en' }

onSqlite('a call is refused', (open) => {
  let setup: RelaySetup
  let model: string
  useRelaySetup((started) => (setup = started), {
    open,
    settings: { TRUSTED_PROXIES: '127.0.0.1' },
  })
  beforeAll(async () => {
    model = await aServedModel(setup)
  })
  const nowSeconds = () => setup.clock.nowSeconds()
  const statusOf = async (tokenId: number) => {
    const row = await setup.database.read
      .selectFrom('tokens')
      .select('status')
      .where('id', '=', tokenId)
      .executeTakeFirstOrThrow()
    return row.status
  }

  describe('for its token, in the order of the wire', () => {
    test('without one: 401, in the language asked for, and the id is in the message', async () => {
      const body = chatBody(model)
      const chinese = await setup.call('POST', CHAT, { body })
      expectRefusal(chinese, { code: 'token_missing', status: 401 })
      expect(requestIdOf(chinese)).toMatch(/^20\d{29}$/)
      const english = await setup.call('POST', CHAT, { body, headers: ENGLISH })
      expectRefusal(english, { code: 'token_missing', status: 401 }, 'en')
      expect(requestIdOf(english)).not.toBe(requestIdOf(chinese))
    })

    test.each([
      'Bearer ',
      'Bearer',
      'Bearer sk-',
      'sk-',
      `Bearer sk-${'a'.repeat(48)}`,
      'x y',
      '-1',
    ])('with a credential nobody has, %j: 401', async (authorization) => {
      const answer = await setup.call('POST', CHAT, {
        body: chatBody(model),
        headers: { authorization },
      })
      expectRefusal(answer, { code: 'token_unknown', status: 401 })
    })

    test.each(['', 'Bearer ', 'bearer ', 'Bearer sk-', 'sk-'])(
      'but not for how the key is written: %j before it',
      async (prefix) => {
        const { key } = await aClient(setup)
        const answer = await setup.call('POST', CHAT, {
          body: chatBody(model),
          headers: { authorization: prefix + key },
        })
        expect(answer.status).toBe(200)
      },
    )

    test('exhausted (4): 401, before an expiry, and with any quota', async () => {
      const token = { status: TokenStatus.exhausted, expired_time: 1, remain_quota: 5 }
      const client = await aClient(setup, { token: { unlimited_quota: false, ...token } })
      await expectRefused(setup, client, chatBody(model), {
        code: 'token_exhausted',
        status: 401,
      })
      expect(await statusOf(client.tokenId)).toBe(TokenStatus.exhausted)
    })

    test('expired (3): 401 even if its expiry lies ahead again', async () => {
      const token = { status: TokenStatus.expired, expired_time: nowSeconds() + 1000 }
      const client = await aClient(setup, { token })
      await expectRefused(setup, client, chatBody(model), {
        code: 'token_expired',
        status: 401,
      })
    })

    test.each([TokenStatus.disabled, 7])('disabled (%i): 401', async (status) => {
      const client = await aClient(setup, { token: { status, expired_time: 1 } })
      const refusal = { code: 'token_disabled', status: 401 } as const
      await expectRefused(setup, client, chatBody(model), refusal)
      expect(await statusOf(client.tokenId)).toBe(status)
    })

    test('past its expiry: 401, stored as 3, and it stays refused when the expiry is raised', async () => {
      const client = await aClient(setup, { token: { expired_time: nowSeconds() + 1 } })
      setup.clock.advanceSeconds(1)
      // The second of the expiry itself still counts.
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      setup.clock.advanceSeconds(1)
      const refusal = { code: 'token_expired', status: 401 } as const
      await expectRefused(setup, client, chatBody(model), refusal)
      expect(await statusOf(client.tokenId)).toBe(TokenStatus.expired)
      await changeToken(client.tokenId, { expired_time: -1 })
      await expectRefused(setup, client, chatBody(model), refusal)
      await changeToken(client.tokenId, { status: TokenStatus.enabled })
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
    })

    test('limited and used up: 401, stored as 4, and refused until it is enabled again', async () => {
      const client = await aClient(setup, { token: { unlimited_quota: false, remain_quota: 0 } })
      const refusal = { code: 'token_exhausted', status: 401 } as const
      await expectRefused(setup, client, chatBody(model), refusal)
      expect(await statusOf(client.tokenId)).toBe(TokenStatus.exhausted)
      await changeToken(client.tokenId, { unlimited_quota: true })
      await expectRefused(setup, client, chatBody(model), refusal)
      await changeToken(client.tokenId, { status: TokenStatus.enabled })
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
    })

    test('not because other calls hold all it has: it waits, and the status stays', async () => {
      // A hold is no spending: the token works again as soon as the other call is over.
      const held = await startHeldUpstream()
      const slow = aModel()
      await aRoute(setup, slow, { base_url: held.url })
      const client = await aClient(setup, {
        token: { unlimited_quota: false, remain_quota: 1000 + promptEstimate },
      })
      const body = chatBody(slow, { stream: true, max_tokens: 1000 })
      const opening = openCall(setup, client, body)
      await eventually(() => held.asked() > 0, 'the call')
      const waiting = post(setup, client, chatBody(model, { max_tokens: 5 }))
      held.release()
      const running = await opening
      expect(running.status).toBe(200)
      expect(await running.ended).toBe('complete')
      await held.close()
      expect(await statusOf(client.tokenId)).toBe(TokenStatus.enabled)
      expect((await waiting).status).toBe(200)
    })

    async function changeToken(
      id: number,
      change: Partial<{ status: number; expired_time: number; unlimited_quota: boolean }>,
    ) {
      await setup.database.write.updateTable('tokens').set(change).where('id', '=', id).execute()
      await setup.database.announce(`token:${id}`)
    }
  })

  describe('for where it comes from', () => {
    test.each([
      ['192.168.77.0/24', '192.168.77.9', true],
      ['192.168.77.0/24', '192.168.78.9', false],
      ['10.0.0.0/8, 192.168.77.0/24', '192.168.77.1', true],
      ['10.0.0.5/8', '10.9.9.9', true],
      ['10.0.0.0/8', '::ffff:10.1.2.3', true],
      ['2001:db8::/32', '2001:db8:1::1', true],
      ['2001:db8::/32', '2001:db9::1', false],
      ['2001:db8::/32', '10.0.0.1', false],
      ['0.0.0.0/0', '2001:db8::1', false],
      ['::/0', '10.0.0.1', false],
      ['0.0.0.0/0,::/0', '2001:db8::1', true],
      ['nonsense', '10.0.0.1', false],
      ['10.0.0.1', '10.0.0.1', false],
    ])('a token for %s, called from %s: allowed is %j', async (subnet, address, isAllowed) => {
      const client = await aClient(setup, { token: { subnet } })
      const answer = await post(setup, client, chatBody(model), {
        headers: { 'x-forwarded-for': address },
      })
      if (isAllowed) expect(answer.status).toBe(200)
      // The message contains neither the networks nor the client's address.
      else expectRefusal(answer, { code: 'token_address_not_allowed', status: 403 })
    })

    test('also right after a call that was allowed, and the other way round', async () => {
      const client = await aClient(setup, { token: { subnet: '192.168.0.0/16' } })
      const from = (address: string) =>
        post(setup, client, chatBody(model), { headers: { 'x-forwarded-for': address } })
      const addresses = ['192.168.1.1', '10.0.0.1', '192.168.1.1', '10.0.0.1', '10.0.0.2']
      const statuses: number[] = []
      for (const address of addresses) statuses.push((await from(address)).status)
      expect(statuses).toEqual([200, 403, 200, 403, 403])
    })

    // The connection that announcements come by was lost, and that one with it.
    test('also if the announcement of changed networks was lost', async () => {
      const client = await aClient(setup)
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      await setup.database.write
        .updateTable('tokens')
        .set({ subnet: '192.168.0.0/16' })
        .where('id', '=', client.tokenId)
        .execute()
      await setup.database.announce('everything')
      await expectWithinASecond(async () => {
        expect((await post(setup, client, chatBody(model))).status).toBe(403)
      })
    })

    test('after the checks of the token itself', async () => {
      const client = await aClient(setup, { token: { subnet: '192.168.0.0/16', expired_time: 1 } })
      await expectRefused(setup, client, chatBody(model), {
        code: 'token_expired',
        status: 401,
      })
    })

    test('not by what a header says that no trusted proxy has written', async () => {
      const exposed = await startRelay()
      const client = await aClient(exposed, { token: { subnet: '192.168.0.0/16' } })
      const headers = { 'x-forwarded-for': '192.168.1.1', 'x-real-ip': '192.168.1.1' }
      const answer = await post(exposed, client, chatBody('m'), { headers })
      await exposed.close()
      expectRefusal(answer, { code: 'token_address_not_allowed', status: 403 })
    })
  })

  describe('for its owner', () => {
    test('who is disabled or deleted: 403', async () => {
      for (const status of [UserStatus.disabled, UserStatus.deleted]) {
        const client = await aClient(setup, { status })
        await expectRefused(setup, client, chatBody(model), {
          code: 'token_owner_disabled',
          status: 403,
        })
      }
    })

    test('immediately after the owner is disabled between two calls', async () => {
      const client = await aClient(setup)
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      await setup.database.write
        .updateTable('users')
        .set({ status: UserStatus.disabled })
        .where('id', '=', client.userId)
        .execute()
      // This holds without an announcement, since the reservation reads the stored status.
      await expectRefused(setup, client, chatBody(model), {
        code: 'token_owner_disabled',
        status: 403,
      })
    })

    test('who has no quota left: 403 with the code that clients know', async () => {
      const client = await aClient(setup, { quota: 0 })
      await expectRefused(setup, client, chatBody(model), {
        code: 'user_quota_insufficient',
        status: 403,
        wireCode: 'insufficient_user_quota',
      })
      await expectNothingCharged(setup, client)
    })
  })

  describe('for what it asks', () => {
    test('a body that is no JSON: 400, before the model is looked at', async () => {
      const client = await aClient(setup, { token: { models: 'another' } })
      const answer = await post(setup, client, '{"model":')
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({ error: { code: 'relay_body_invalid' } })
    })

    test('a model that is not literally in the token’s list: 403', async () => {
      const client = await aClient(setup, { token: { models: `${model}-mini, other ,x` } })
      const refusal = { code: 'token_model_not_allowed', status: 403, params: { model } } as const
      await expectRefused(setup, client, chatBody(model), refusal)
      const other = await aClient(setup, { token: { models: `x, ${model}` } })
      expect((await post(setup, other, chatBody(model))).status).toBe(200)
      const upper = await post(setup, other, chatBody(model.toUpperCase()))
      expect(upper.status).toBe(403)
    })

    test('the list is compared with the name before it is mapped', async () => {
      const [asked, sent] = [aModel(), aModel()]
      await aRoute(setup, asked, { model_mapping: JSON.stringify({ [asked]: sent }) })
      const allowed = await aClient(setup, { token: { models: asked } })
      expect((await post(setup, allowed, chatBody(asked))).status).toBe(200)
      const refused = await aClient(setup, { token: { models: sent } })
      expect((await post(setup, refused, chatBody(asked))).status).toBe(403)
    })

    test('no model at all: 503 that asks for one, also with a list of models', async () => {
      const refusal = { code: 'model_missing', status: 503, wireCode: 'no_channel' } as const
      for (const models of ['', model]) {
        const client = await aClient(setup, { token: { models } })
        await expectRefused(setup, client, { messages: [] }, refusal)
        const { headers } = await post(setup, client, { messages: [] })
        expect(headers['x-should-retry']).toBe('false')
      }
    })

    test('a model without a channel: 503 that names group and model', async () => {
      const client = await aClient(setup)
      const params = { group: 'default', model: 'nobody-has-it' }
      const refusal = { code: 'no_channel', status: 503, params } as const
      await expectRefused(setup, client, chatBody('nobody-has-it'), refusal)
      await expectNothingCharged(setup, client)
      // Automatic retries would be useless.
      const { headers } = await post(setup, client, chatBody('nobody-has-it'))
      expect(headers['x-should-retry']).toBe('false')
    })

    test('a very long name is not repeated in full', async () => {
      const client = await aClient(setup)
      const answer = await post(setup, client, chatBody('m'.repeat(10_000)))
      expect(answer.status).toBe(503)
      expect(answer.text.length).toBeLessThan(400)
    })
  })

  describe('for the channel that is named behind the key', () => {
    const pinned = ({ key }: { key: string }, channel: string) => ({ key: `${key}-${channel}` })

    test('by an ordinary user: 403, after the token’s own list of models', async () => {
      const client = await aClient(setup)
      const refusal = { code: 'channel_pin_not_allowed', status: 403 } as const
      await expectRefused(setup, pinned(client, '1'), chatBody(model), refusal)
      const listed = await aClient(setup, { token: { models: 'other' } })
      await expectRefused(setup, pinned(listed, '1'), chatBody(model), {
        code: 'token_model_not_allowed',
        status: 403,
        params: { model },
      })
    })

    test.each(['999999', '0', 'abc', '1e3', '9'.repeat(30)])('unknown, %s: 400', async (id) => {
      const admin = await aClient(setup, { role: Role.admin })
      const refusal = { code: 'channel_pin_unknown', status: 400 } as const
      await expectRefused(setup, pinned(admin, id), chatBody(model), refusal)
    })

    test('disabled: 403', async () => {
      const id = await aRoute(setup, aModel(), { status: 2 })
      const admin = await aClient(setup, { role: Role.admin })
      await expectRefused(setup, pinned(admin, String(id)), chatBody(model), {
        code: 'channel_pin_disabled',
        status: 403,
      })
    })

    test('but neither for its group nor its models, and further parts are ignored', async () => {
      const id = await aRoute(setup, aModel(), { group: 'vip' })
      const admin = await aClient(setup, { role: Role.admin })
      const other = aModel()
      const answer = await post(setup, pinned(admin, `${id}-77-x`), chatBody(other))
      expect(answer.status).toBe(200)
      expect(answer.headers['x-gatehouse-channel']).toBe(String(id))
    })

    test('without a model there is nothing to send: 400', async () => {
      const id = await aRoute(setup, aModel())
      const admin = await aClient(setup, { role: Role.admin })
      const answer = await post(setup, pinned(admin, String(id)), { messages: [{}] })
      expectRefusal(answer, {
        code: 'relay_field_required',
        status: 400,
        params: { field: 'model' },
        wireCode: 'invalid_text_request',
      })
      await expectNothingCharged(setup, admin)
    })

    test('but not for a dash in a key that another program has made', async () => {
      const key = `made_elsewhere_${aModel()}_AbC-De_F-7`
      const plain = await aClient(setup, { token: { key } })
      const id = await aRoute(setup, aModel(), { group: 'vip' })
      // Twice: the second is answered from memory.
      for (const _ of [1, 2]) {
        expect((await post(setup, plain, chatBody(model))).status).toBe(200)
        const refusal = { code: 'channel_pin_not_allowed', status: 403 } as const
        await expectRefused(setup, pinned(plain, String(id)), chatBody(model), refusal)
      }
      const unknown = { code: 'token_unknown', status: 401 } as const
      for (const other of [`${key}x`, key.slice(0, -1), key.split('-')[0] ?? '', `x${key}`]) {
        await expectRefused(setup, { key: other }, chatBody(model), unknown)
      }
    })

    test('an empty part behind the key names a channel that there is not', async () => {
      const client = await aClient(setup)
      const forbidden = { code: 'channel_pin_not_allowed', status: 403 } as const
      await expectRefused(setup, pinned(client, ''), chatBody(model), forbidden)
      const admin = await aClient(setup, { role: Role.admin })
      const unknown = { code: 'channel_pin_unknown', status: 400 } as const
      await expectRefused(setup, pinned(admin, ''), chatBody(model), unknown)
    })
  })

  test('a token whose deletion was not announced stops working with its next reservation', async () => {
    const client = await aClient(setup)
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    await setup.database.write.deleteFrom('tokens').where('id', '=', client.tokenId).execute()
    await expectRefused(setup, client, chatBody(model), {
      code: 'token_unknown',
      status: 401,
    })
  })

  test('many concurrent refused tokens each get their own reason', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { userId } = await aClient(setup)
        const expired = index % 2 === 0
        const token = await aToken(setup, userId, {
          unlimited_quota: true,
          ...(expired ? { expired_time: 1 } : { status: TokenStatus.disabled }),
        })
        return { key: token.key, expired }
      }),
    )
    const answers = await Promise.all(
      tokens.map(async ({ key, expired }) => {
        const answer = await post(setup, { key }, chatBody(model))
        return [expired, answer.json] as const
      }),
    )
    for (const [expired, json] of answers) {
      expect(json).toMatchObject({ error: { code: expired ? 'token_expired' : 'token_disabled' } })
    }
  })
})

test('a database that cannot be read is our fault (500), and no reason to throw the key away', async () => {
  const setup = await startRelay()
  const client = await aClient(setup)
  await setup.database.write.schema.alterTable('tokens').renameTo('tokens_gone').execute()
  const answer = await post(setup, client, chatBody('m'))
  await setup.database.write.schema.alterTable('tokens_gone').renameTo('tokens').execute()
  expectRefusal(answer, { code: 'internal', status: 500, wireCode: 'internal_error' })
  expect(answer.text).not.toContain('tokens')
  expect(setup.faults.join()).toContain('a call failed')
  await setup.close()
})
