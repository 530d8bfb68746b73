import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isHashedKey } from './token-key.ts'
import { hashTokenKeys } from './token-key-store.ts'
import { remindOfExpiry } from './expiry-reminder.ts'
import { aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox } from '../test/mailbox.ts'
import { aServedModel, chatBody, post, startRelay, type RelaySetup } from '../test/relay-setup.ts'

interface Answered {
  id: number
  key: string
  key_shown_once: boolean
  previous_key_until: number
}

const HOUR = 3600

forEachDatabase('keys of tokens', (open) => {
  let setup: RelaySetup
  let user: TestUser
  let model: string
  beforeAll(async () => {
    setup = await startRelay(open)
    model = await aServedModel(setup)
  })
  afterAll(() => setup.close())
  beforeEach(async () => {
    await setup.app.options.set('TokensShownOnce', 'false')
    user = await aUser(setup, { quota: 1_000_000 })
  })

  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await setup.call(method, path, { as: user, body })
    expect(answer.json).toMatchObject({ success: true })
    return answer.data as Answered
  }
  const create = () => send('POST', '/api/token/', { name: 't', unlimited_quota: true })
  const rotate = (id: number, grace_hours: number) =>
    send('POST', `/api/token/${id}/rotate`, { grace_hours })
  const statusOf = async (key: string) => (await post(setup, { key }, chatBody(model))).status
  const storedOf = (id: number) =>
    setup.database.read
      .selectFrom('tokens')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()

  test('a key that is shown once is stored as a hash, works, and is masked afterwards', async () => {
    await setup.app.options.set('TokensShownOnce', 'true')
    const { id, key, key_shown_once } = await create()
    expect([key.length, key_shown_once]).toEqual([48, true])
    const { key: stored } = await storedOf(id)
    expect(isHashedKey(stored.trimEnd())).toBe(true)
    expect(await statusOf(key)).toBe(200)
    // A reader of the database cannot call with the stored text.
    expect(await statusOf(stored.trimEnd())).toBe(401)
    const masked = `${key.slice(0, 4)}****${key.slice(-4)}`
    const shown = await send('GET', `/api/token/${id}`)
    expect(shown).toMatchObject({ key: masked, key_shown_once: true })
    expect(await statusOf(masked)).toBe(401)
    for (const keyword of [
      key,
      `sk-${key}`,
      key.slice(-4),
      `${key.slice(0, 4)}…${key.slice(-4)}`,
    ]) {
      const found = await send('GET', `/api/token/search?keyword=${encodeURIComponent(keyword)}`)
      expect(found).toMatchObject([{ id, key: masked }])
    }
    expect(await send('GET', `/api/token/search?keyword=${stored.trimEnd().slice(-6)}`)).toEqual([])
  })

  test('an existing key is hashed by the command, once, and keeps working', async () => {
    const { id, key } = await create()
    expect(await statusOf(key)).toBe(200)
    const before = await hashTokenKeys(setup.database, { isDryRun: true })
    expect(before).toBeGreaterThan(0)
    expect((await storedOf(id)).key.trimEnd()).toBe(key)
    expect(await hashTokenKeys(setup.database, { isDryRun: false })).toBe(before)
    expect(await hashTokenKeys(setup.database, { isDryRun: false })).toBe(0)
    expect((await storedOf(id)).key).not.toContain(key)
    await setup.database.announce('everything')
    expect(await statusOf(key)).toBe(200)
  })

  test.each(['false', 'true'])(
    'after a rotation both keys are the same token for a time (shown once: %s)',
    async (shownOnce) => {
      await setup.app.options.set('TokensShownOnce', shownOnce)
      const { id, key } = await create()
      expect(await statusOf(key)).toBe(200)
      const until = setup.clock.nowSeconds() + 2 * HOUR
      const rotated = await rotate(id, 2)
      expect(rotated).toMatchObject({ id, previous_key_until: until })
      expect(rotated.key).not.toBe(key)
      expect(await statusOf(key)).toBe(200)
      expect(await statusOf(rotated.key)).toBe(200)
      expect(await send('GET', `/api/token/${id}`)).toMatchObject({
        accessed_time: setup.clock.nowSeconds(),
        last_ip: '127.0.0.1',
      })
      const logs = await setup.database.read
        .selectFrom('ledger')
        .select('token_id')
        .where('user_id', '=', user.id)
        .where('kind', '=', 'consume')
        .execute()
      expect(logs).toEqual([{ token_id: id }, { token_id: id }, { token_id: id }])

      setup.clock.advanceSeconds(2 * HOUR)
      // Rows are cached for two seconds.
      setup.clock.lapseSeconds(3)
      expect(await statusOf(key)).toBe(401)
      expect(await statusOf(rotated.key)).toBe(200)
      expect(await send('GET', `/api/token/${id}`)).toMatchObject({ previous_key_until: 0 })
    },
  )

  test('the previous key ends immediately on request, and without a grace period', async () => {
    const { id, key } = await create()
    const second = await rotate(id, 720)
    expect(await statusOf(key)).toBe(200)
    expect(await send('DELETE', `/api/token/${id}/previous_key`)).toMatchObject({
      key: second.key,
      previous_key_until: 0,
    })
    expect(await statusOf(key)).toBe(401)
    const third = await rotate(id, 0)
    expect(await statusOf(second.key)).toBe(401)
    expect(await statusOf(third.key)).toBe(200)
  })

  test('a rotation by another user, or for longer than allowed, is refused', async () => {
    const { id } = await aToken(setup, user.id)
    const other = await aUser(setup)
    const asked = (as: TestUser, grace_hours: number) =>
      setup.call('POST', `/api/token/${id}/rotate`, { as, body: { grace_hours } })
    expect((await asked(other, 1)).json).toMatchObject({ success: false })
    expect((await asked(user, 721)).json).toMatchObject({ success: false })
    expect((await asked(user, -1)).json).toMatchObject({ success: false })
    const removal = await setup.call('DELETE', `/api/token/${id}/previous_key`, { as: other })
    expect(removal.json).toMatchObject({ success: false })
  })

  test('an owner is reminded once of each expiry that is near', async () => {
    const mailbox = await startMailbox()
    await mailThrough(setup, mailbox)
    const owner = await aUser(setup, { email: 'owner@example.test' })
    const expired_time = setup.clock.nowSeconds() + 3 * 24 * HOUR
    const soon = await aToken(setup, owner.id, { name: 'soon-token', expired_time })
    await aToken(setup, owner.id, {
      name: 'later-token',
      expired_time: expired_time + 30 * 24 * HOUR,
    })
    await aToken(setup, owner.id, { name: 'lasting-token' })
    const subjects = async () => {
      await Promise.all([remindOfExpiry(setup.app), remindOfExpiry(setup.app)])
      await setup.app.background.idle()
      return mailbox.mails.map(({ parsed }) => parsed.text ?? '')
    }
    const [text, ...more] = await subjects()
    expect(more).toEqual([])
    expect(text).toContain('“soon-token” expires within 3 days')
    expect(text).toContain('令牌「soon-token」将在 3 天内过期')
    expect(await subjects()).toHaveLength(1)
    await setup.database.write
      .updateTable('tokens')
      .set({ expired_time: expired_time + HOUR })
      .where('id', '=', soon.id)
      .execute()
    expect(await subjects()).toHaveLength(2)
    await setup.app.options.set('TokenExpiryReminderDays', '0')
    await mailbox.close()
  })
})
