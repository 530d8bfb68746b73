import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aRedemption, aSettledCall, aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { randomText } from '../secrets.ts'
import { reminderDue, ReminderLevel } from './quota-reminder.ts'
import { findRemindedUsers } from './quota-reminder-store.ts'

const { none, low, exhausted } = ReminderLevel

describe('reminders due for a balance, with a threshold of 1000', () => {
  test.each([
    ['it is as much as the threshold', { balance: 1000, charged: 10 }, none, false],
    ['it has just fallen below', { balance: 999, charged: 10 }, low, true],
    ['it was below before and nobody was told', { balance: 500, charged: 10 }, low, true],
    ['the user was told', { balance: 500, charged: 10, level: low }, low, false],
    [
      'the user was told, and had enough since',
      { balance: 500, charged: 600, level: low },
      low,
      true,
    ],
    ['it is used up', { balance: 0, charged: 10, level: low }, exhausted, true],
    ['it is below nothing', { balance: -5, charged: 10, level: low }, exhausted, true],
    ['it was used up in one call', { balance: 0, charged: 5000 }, exhausted, true],
    [
      'the user was told that it is used up',
      { balance: 0, charged: 0, level: exhausted },
      exhausted,
      false,
    ],
    ['some came back, not enough', { balance: 10, charged: 0, level: exhausted }, low, false],
    ['enough came back', { balance: 2000, charged: 0, level: exhausted }, none, false],
  ])('%s', (_what, seen, level, isNews) => {
    expect(reminderDue({ threshold: 1000, level: none, ...seen })).toEqual({ level, isNews })
  })
})

forEachDatabase('quota reminders', (open) => {
  let location: DatabaseLocation
  let server: TestServer
  let mailbox: Mailbox
  let user: TestUser
  let tokenId: number
  beforeAll(async () => {
    location = await open()
    server = await startTestServer(() => Promise.resolve(location))
    mailbox = await startMailbox()
    await mailThrough(server, mailbox)
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
  })
  beforeEach(async () => {
    await server.app.options.set('QuotaRemindThreshold', '1000')
    user = await aUser(server, { quota: 1500, email: `${randomText(8)}@example.test` })
    tokenId = (await aToken(server, user.id, { unlimited_quota: true })).id
  })
  afterEach(() => {
    mailbox.mails.length = 0
    vi.useRealTimers()
  })

  const spend = (cost: number, reserved = cost, on = server) =>
    aSettledCall(on, { userId: user.id, tokenId, cost, reserved })
  /** Subjects of the mails sent to the user, after all background work is done. */
  async function subjects(on = server): Promise<string[]> {
    await on.app.background.idle()
    const email = user.username
    return mailbox.mails
      .filter(({ parsed }) => parsed.text?.includes(email))
      .map(({ parsed }) => parsed.subject ?? '')
  }
  /** Changes the user's row and waits until all processes have reloaded it. */
  async function changed(body: object): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    server.database.onAnnouncement((message) => {
      if (message === `user:${user.id}`) resolve()
    })
    const as = await aUser(server, { role: Role.root })
    const answer = await server.call('PUT', '/api/user/', { as, body: { id: user.id, ...body } })
    expect(answer.json['success']).toBe(true)
    await promise
  }
  const LOW = 'Gatehouse 额度提醒 / Gatehouse: your quota is running low'
  const EXHAUSTED = 'Gatehouse 额度已用尽 / Gatehouse: your quota is used up'

  test('one mail when the balance falls below the threshold, another when it is used up', async () => {
    await spend(400)
    expect(await subjects()).toEqual([])
    await spend(200)
    expect(await subjects()).toEqual([LOW])
    expect(mailbox.mails[0]?.parsed.text).toContain('/topup')
    expect(mailbox.mails[0]?.parsed.text).toContain('$0.0018')
    await spend(100)
    await spend(300)
    expect(await subjects()).toEqual([LOW])
    await spend(500)
    expect(await subjects()).toEqual([LOW, EXHAUSTED])
  })

  test('many concurrent calls cross the threshold once', async () => {
    await Promise.all(Array.from({ length: 30 }, () => spend(20, 40)))
    expect(await subjects()).toEqual([LOW])
    await Promise.all(Array.from({ length: 30 }, () => spend(30)))
    expect(await subjects()).toEqual([LOW, EXHAUSTED])
  })

  // Reserved points are returned, so a balance that is only reserved has not fallen.
  test('points reserved by open calls still count', async () => {
    const { ledger, clock, node } = server.app
    const requestId = `held-${randomText(8)}`
    const nowSeconds = clock.nowSeconds()
    await ledger.reserve({ requestId, userId: user.id, tokenId, amount: 900, nowSeconds, node })
    await spend(10)
    expect(await subjects()).toEqual([])
    await ledger.release(requestId)
  })

  test('reminders start again after a top-up, at most once a day', async () => {
    await spend(600)
    expect(await subjects()).toEqual([LOW])
    await changed({ quota: 2000 })
    await subjects()
    await spend(1500)
    expect(await subjects()).toEqual([LOW])
    await changed({ quota: 2000 })
    await subjects()
    server.clock.advanceSeconds(86_400)
    await spend(1500)
    expect(await subjects()).toEqual([LOW, LOW])
    await changed({ quota: 2000 })
    await subjects()
    // Simulates a clock that was ahead and is corrected.
    server.clock.advanceSeconds(-2 * 86_400)
    await spend(1500)
    expect(await subjects()).toEqual([LOW, LOW, LOW])
  })

  // Otherwise a fall shared by several processes, each too small on its own, would send no mail.
  test.each([
    ['an admin', () => changed({ quota: 2000 })],
    [
      'a code',
      async () => {
        const { key } = await aRedemption(server, user.id, { quota: 1000 })
        await server.call('POST', '/api/user/topup', { as: user, body: { key } })
      },
    ],
  ])('after enough points from %s reminders start again', async (_what, add) => {
    const toldLevel = async () => {
      const [row] = await findRemindedUsers(server.database.read, [user.id])
      return row?.level
    }
    await spend(600)
    expect(await subjects()).toEqual([LOW])
    expect(await toldLevel()).toBe(low)
    await add()
    await expect.poll(toldLevel).toBe(none)
  })

  test('an admin’s edit of a low balance sends no mail', async () => {
    await changed({ quota: 10 })
    expect(await subjects()).toEqual([])
  })

  test('a threshold of 0 disables reminders', async () => {
    await server.app.options.set('QuotaRemindThreshold', '0')
    await spend(1500)
    expect(await subjects()).toEqual([])
  })

  test('a user without an address gets no mail until one is set and the next call settles', async () => {
    const set = (email: string) =>
      server.database.write.updateTable('users').set({ email }).where('id', '=', user.id).execute()
    await set('')
    await spend(600)
    expect(await subjects()).toEqual([])
    await set('late@example.test')
    await spend(1)
    expect(await subjects()).toEqual([LOW])
  })

  test('a failed mail is retried later without another call', async () => {
    // Only the server's own timer is accelerated.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const own = await startTestServer(() => Promise.resolve(location))
    const tick = () => vi.advanceTimersByTime(60_000)
    await mailThrough(own, mailbox)
    await own.app.options.set('SMTPPort', '9')
    await spend(1500, 1500, own)
    expect(await subjects(own)).toEqual([])
    await own.app.options.set('SMTPPort', String(mailbox.port))
    tick()
    expect(await subjects(own)).toEqual([])
    own.clock.lapseSeconds(600)
    tick()
    expect(await subjects(own)).toEqual([EXHAUSTED])
    own.clock.lapseSeconds(86_400)
    tick()
    expect(await subjects(own)).toEqual([EXHAUSTED])
    await own.close()
    await mailThrough(server, mailbox)
  })

  test('a full mail queue does not lose the reminder', async () => {
    const held = Promise.withResolvers<void>()
    const { background } = server.app
    while (background.run('mail', 'held', () => held.promise));
    await spend(600)
    // The retry is due while the queue is full.
    await new Promise((resolve) => setTimeout(resolve, 700))
    held.resolve()
    expect(await subjects()).toEqual([LOW])
    await spend(900)
    expect(await subjects()).toEqual([LOW, EXHAUSTED])
  })

  test('only one of two processes sends the mail', async () => {
    if (location.engine === 'sqlite') {
      // SQLite has one process; a restart must not send the mail again.
      await spend(600)
      expect(await subjects()).toEqual([LOW])
      const again = await startTestServer(() => Promise.resolve(location))
      await spend(1, 1, again)
      expect(await subjects(again)).toEqual([LOW])
      await again.close()
      return
    }
    const second = await startTestServer(() => Promise.resolve(location))
    // Sets the second clock to that of the first, which is days ahead.
    second.clock.advanceSeconds(server.clock.nowSeconds() - second.clock.nowSeconds())
    await Promise.all([spend(300), spend(300, 300, second)])
    await Promise.all([spend(1), spend(1, 1, second)])
    await subjects(second)
    expect(await subjects()).toEqual([LOW])
    await second.close()
  })
})
