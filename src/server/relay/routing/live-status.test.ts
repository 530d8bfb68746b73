import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { ChannelStatus } from '../../../contract/channel.ts'
import { changeStatusByProgram } from '../../channel/channel-status.ts'
import { findChannel } from '../../channel/channel-store.ts'
import { sendStatusDigest, startStatusDigest } from '../../channel/notice/status-digest.ts'
import { anAdmin } from '../../test/factories.ts'
import { forEachDatabase, type DatabaseLocation } from '../../test/for-each-database.ts'
import { startHeldUpstream } from '../../test/held-upstream.ts'
import { mailThrough, startMailbox, type Mailbox } from '../../test/mailbox.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  eventually,
  expectAllWell,
  expectRefusal,
  post,
  startRelay,
  type RelaySetup,
  channelStatusOf,
} from '../../test/relay-setup.ts'

const { enabled, disabled, autoDisabled } = ChannelStatus
const FIRST_TRIAL_SECONDS = 300

forEachDatabase('channels are disabled and enabled by the calls that people make', (open) => {
  let location: DatabaseLocation
  let setup: RelaySetup
  beforeAll(async () => {
    location = await open()
    // The server's own email, after a minute, must not be among those that the tests send.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    setup = await startRelay(() => Promise.resolve(location))
    vi.useRealTimers()
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await setup.close()
  })
  beforeEach(async () => {
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'true')
    await setup.app.options.set('AutomaticEnableChannelEnabled', 'true')
  })
  afterEach(async () => {
    await setup.database.write.deleteFrom('channel_notices').execute()
  })

  /** Two channels: the first fails in this way, the second works. */
  async function failingFirst(words: string) {
    const model = aModel()
    const failing = await aRoute(setup, model, { words, priority: 9, name: `bad ${model}` })
    await aRoute(setup, model)
    const ask = async () => post(setup, await aClient(setup), chatBody(model))
    return { model, failing, ask }
  }
  const statusOf = (id: number): Promise<number> => channelStatusOf(setup, id)
  const systemRows = (id: number) =>
    setup.database.read
      .selectFrom('logs')
      .select(['content', 'request_id'])
      .where('channel_id', '=', id)
      .where('type', '=', 4)
      .orderBy('id')
      .execute()
  async function change(id: number, columns: { base_url?: string; key?: string }): Promise<void> {
    const { database } = setup
    await database.write.updateTable('channels').set(columns).where('id', '=', id).execute()
    await database.announce('channels')
  }
  const seenAt = (words: string) =>
    setup.upstream.seen().filter(({ url }) => url.startsWith(`/~${words}/`)).length

  describe('disabled', () => {
    test.each(['fail-key', 'fail-quota', 'fail-402'])(
      'at once when the upstream names its account or key: %s',
      async (words) => {
        const { failing, ask } = await failingFirst(words)
        expect((await ask()).status).toBe(200)
        expect(await statusOf(failing)).toBe(autoDisabled)
        const [row, ...more] = await systemRows(failing)
        expect(row?.content).toContain('已被自动禁用：上游拒绝了密钥或账户')
        expect(row?.content).not.toContain('sk-upstream')
        expect(more).toEqual([])
        setup.upstream.seen()
        expect((await ask()).status).toBe(200)
        expect(seenAt(words)).toBe(0)
      },
    )

    test('when the upstream names its account in the middle of a stream', async () => {
      const { failing, model } = await failingFirst('quota-mid-stream')
      const client = await aClient(setup)
      const answer = await post(setup, client, chatBody(model, { stream: true }))
      expect(answer.status).toBe(200)
      await eventually(
        async () => (await statusOf(failing)) === autoDisabled,
        'the channel to be disabled',
      )
    })

    test('even the last channel of a model if the reason is named', async () => {
      const model = aModel()
      const id = await aRoute(setup, model, { words: 'fail-key' })
      const client = await aClient(setup)
      expect((await post(setup, client, chatBody(model))).status).toBe(503)
      expect(await statusOf(id)).toBe(autoDisabled)
      const params = { group: 'default', model }
      const answer = await post(setup, client, chatBody(model))
      expectRefusal(answer, { code: 'no_channel', status: 503, params })
    })

    test('by a bare 401 only after two users have received it', async () => {
      const { failing, ask, model } = await failingFirst('fail-401')
      const client = await aClient(setup)
      await post(setup, client, chatBody(model))
      await post(setup, client, chatBody(model))
      expect(await statusOf(failing)).toBe(enabled)
      await ask()
      expect(await statusOf(failing)).toBe(autoDisabled)
    })

    test('by a bare 401 that one user receives repeatedly', async () => {
      const { failing, model } = await failingFirst('fail-401')
      const client = await aClient(setup)
      for (let call = 0; call < 5; call += 1) await post(setup, client, chatBody(model))
      expect(await statusOf(failing)).toBe(autoDisabled)
    })

    test('while many emails wait for an unresponsive mail server', async () => {
      const { failing, ask } = await failingFirst('fail-key')
      const held = Promise.withResolvers<void>()
      while (setup.app.background.run('mail', 'held', () => held.promise));
      await ask()
      const status = () =>
        setup.database.read.selectFrom('channels').select('status').where('id', '=', failing)
      await expect.poll(() => status().executeTakeFirst()).toEqual({ status: autoDisabled })
      held.resolve()
    })

    test('once for any number of concurrent calls', async () => {
      const { failing, ask } = await failingFirst('fail-key')
      await Promise.all(Array.from({ length: 8 }, ask))
      expect(await statusOf(failing)).toBe(autoDisabled)
      expect(await systemRows(failing)).toHaveLength(1)
    })
  })

  describe('not disabled', () => {
    test.each([
      'fail-400',
      'fail-403',
      'fail-404',
      'fail-429',
      'fail-500',
      'fail-503',
      'fail-cut',
      'fail-html',
      'error-200',
      'fail-model',
    ])('whatever happens that passes or is about the request: %s', async (words) => {
      const { failing, ask } = await failingFirst(words)
      for (let call = 0; call < 7; call += 1) await ask()
      expect(await statusOf(failing)).toBe(enabled)
    })

    test('if automatic disabling is off', async () => {
      await setup.app.options.set('AutomaticDisableChannelEnabled', 'false')
      const { failing, ask } = await failingFirst('fail-key')
      await ask()
      expect(await statusOf(failing)).toBe(enabled)
    })

    test('the last channel of a model, by a bare 401', async () => {
      const model = aModel()
      const id = await aRoute(setup, model, { words: 'fail-401' })
      for (let call = 0; call < 7; call += 1) {
        await post(setup, await aClient(setup), chatBody(model))
      }
      expect(await statusOf(id)).toBe(enabled)
    })

    test('if a call succeeded between two bare ones', async () => {
      const { failing, ask } = await failingFirst('fail-401')
      await ask()
      await change(failing, { base_url: setup.upstream.url })
      await ask()
      await change(failing, { base_url: `${setup.upstream.url}/~fail-401` })
      await ask()
      expect(await statusOf(failing)).toBe(enabled)
    })
  })

  describe('tried again', () => {
    /** A channel that was disabled by a call. */
    async function disabledByCall(words = 'fail-key') {
      const made = await failingFirst(words)
      await made.ask()
      expect(await statusOf(made.failing)).toBe(autoDisabled)
      setup.upstream.seen()
      return made
    }

    test('by one real call after five minutes, and enabled when it answers', async () => {
      const { failing, ask } = await disabledByCall()
      await change(failing, { base_url: `${setup.upstream.url}/~stamp` })
      setup.clock.advanceSeconds(FIRST_TRIAL_SECONDS - 1)
      await ask()
      expect(seenAt('stamp')).toBe(0)
      setup.clock.advanceSeconds(1)
      expect((await ask()).status).toBe(200)
      expect(seenAt('stamp')).toBe(1)
      expect(await statusOf(failing)).toBe(enabled)
      expect((await systemRows(failing))[1]?.content).toContain('已被自动启用：恢复响应')
      expect((await ask()).status).toBe(200)
      expect(seenAt('stamp')).toBe(1)
    })

    test('even if the clock was ahead at that time', async () => {
      setup.clock.advanceSeconds(30 * 86_400)
      const { failing, ask } = await disabledByCall()
      setup.clock.advanceSeconds(-30 * 86_400)
      await change(failing, { base_url: setup.upstream.url })
      expect((await ask()).status).toBe(200)
      expect(await statusOf(failing)).toBe(enabled)
    })

    test('without failing the call, and then after twice as long', async () => {
      const { failing, ask } = await disabledByCall()
      setup.clock.advanceSeconds(FIRST_TRIAL_SECONDS)
      const answers = await Promise.all(Array.from({ length: 6 }, ask))
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
      expect(seenAt('fail-key')).toBe(1)
      setup.clock.advanceSeconds(2 * FIRST_TRIAL_SECONDS - 1)
      await ask()
      expect(seenAt('fail-key')).toBe(0)
      setup.clock.advanceSeconds(1)
      await ask()
      expect(seenAt('fail-key')).toBe(1)
      expect(await statusOf(failing)).toBe(autoDisabled)
      expect(await systemRows(failing)).toHaveLength(1)
    })

    test('without using one of the client’s attempts', async () => {
      const { ask } = await disabledByCall()
      setup.clock.advanceSeconds(FIRST_TRIAL_SECONDS)
      await setup.app.options.set('RetryTimes', '0')
      const answer = await ask()
      await setup.app.options.set('RetryTimes', '2')
      expect(answer.status).toBe(200)
      expect(seenAt('fail-key')).toBe(1)
    })

    test('when it is the only channel of the model', async () => {
      const model = aModel()
      const id = await aRoute(setup, model, { words: 'fail-key' })
      const client = await aClient(setup)
      await post(setup, client, chatBody(model))
      expect(await statusOf(id)).toBe(autoDisabled)
      setup.clock.advanceSeconds(FIRST_TRIAL_SECONDS)
      const params = { group: 'default', model }
      const refused = await post(setup, client, chatBody(model))
      expectRefusal(refused, { code: 'no_channel', status: 503, params })
      await change(id, { base_url: setup.upstream.url })
      setup.clock.advanceSeconds(2 * FIRST_TRIAL_SECONDS)
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      expect(await statusOf(id)).toBe(enabled)
    })

    test('not if an admin has disabled it, nor if automatic enabling is off', async () => {
      const { failing, ask } = await disabledByCall()
      await change(failing, { base_url: `${setup.upstream.url}/~stamp` })
      setup.clock.advanceSeconds(FIRST_TRIAL_SECONDS)
      await setup.app.options.set('AutomaticEnableChannelEnabled', 'false')
      await ask()
      await setup.app.options.set('AutomaticEnableChannelEnabled', 'true')
      const { database } = setup
      await database.write
        .updateTable('channels')
        .set({ status: disabled })
        .where('id', '=', failing)
        .execute()
      await database.announce('channels')
      await ask()
      expect(seenAt('stamp')).toBe(0)
      expect(await statusOf(failing)).toBe(disabled)
    })

    describe.each(['slow', 'balance'] as const)('not when the cause was another: %s', (cause) => {
      /** A channel that works, and was disabled for another reason. */
      async function disabledFor() {
        const made = await failingFirst('stamp')
        const channel = await findChannel(setup.database.read, made.failing)
        if (channel === null) throw new Error('no channel')
        const pause = { channel, to: autoDisabled, cause, reason: '', requestId: '' }
        expect(await changeStatusByProgram(setup.app, pause)).toBe(true)
        setup.upstream.seen()
        return made
      }

      test('not by a call at any later time', async () => {
        const { failing, ask } = await disabledFor()
        for (const seconds of [FIRST_TRIAL_SECONDS, 3600, 30 * 86_400]) {
          setup.clock.advanceSeconds(seconds)
          expect((await ask()).status).toBe(200)
          setup.clock.advanceSeconds(-seconds)
        }
        expect(seenAt('stamp')).toBe(0)
        expect(await statusOf(failing)).toBe(autoDisabled)
      })

      test('by the next call after an admin has entered another key', async () => {
        const { failing, ask } = await disabledFor()
        const answer = await setup.call('PUT', '/api/channel/', {
          as: await anAdmin(setup),
          body: { id: failing, key: 'sk-new' },
        })
        expect(answer.json).toMatchObject({ success: true })
        expect((await ask()).status).toBe(200)
        expect(await statusOf(failing)).toBe(enabled)
      })
    })

    test('does not blame a new key for a rejection of the old one', async () => {
      const { app, database } = setup
      const { failing, ask } = await failingFirst('fail-key')
      const answer = { error: { message: 'refused', code: 'invalid_api_key' } }
      const held = await startHeldUpstream({ status: 401, answer })
      await change(failing, { base_url: held.url })
      const asked = ask()
      await eventually(() => held.asked() > 0, 'the call upstream')
      const columns = { key: 'sk-new' }
      await database.write.updateTable('channels').set(columns).where('id', '=', failing).execute()
      held.release()
      await asked
      await app.background.idle()
      expect(await statusOf(failing)).toBe(enabled)
      // The new key is disabled, once it is loaded here and rejected as well.
      await database.announce('channels')
      await ask()
      expect(await statusOf(failing)).toBe(autoDisabled)
      await held.close()
    })
  })

  describe('one email to root', () => {
    let mailbox: Mailbox
    beforeAll(async () => {
      mailbox = await startMailbox()
      await mailThrough(setup, mailbox)
      const email = 'root@example.test'
      await setup.database.write
        .updateTable('users')
        .set({ email })
        .where('username', '=', 'root')
        .execute()
    })
    afterAll(() => mailbox.close())
    beforeEach(() => {
      mailbox.mails.length = 0
      setup.clock.advanceSeconds(3600)
    })

    async function disableTwo(): Promise<number[]> {
      const first = await failingFirst('fail-key')
      const second = await failingFirst('fail-402')
      await Promise.all([first.ask(), second.ask()])
      expect(await statusOf(first.failing)).toBe(autoDisabled)
      expect(await statusOf(second.failing)).toBe(autoDisabled)
      return [first.failing, second.failing]
    }

    test('lists all changes once, in both languages', async () => {
      const ids = await disableTwo()
      expect(await sendStatusDigest(setup.app)).toBe(true)
      expect(await sendStatusDigest(setup.app)).toBe(true)
      expect(mailbox.mails).toHaveLength(1)
      const { subject, text } = mailbox.mails[0]?.parsed ?? {}
      expect(subject).toBe('Gatehouse 渠道状态变更提醒（2） / Gatehouse: channels changed (2)')
      for (const id of ids) {
        expect(text).toContain(`（#${id}）已被自动禁用：上游拒绝了密钥或账户`)
        expect(text).toContain(`(#${id}) was disabled: the upstream refuses its key or account`)
      }
      expect(text).not.toContain('sk-upstream')
      expect(text).toContain('/channel')
    })

    test('is sent automatically by one of two processes', async () => {
      const second = await startRelay(() => Promise.resolve(location))
      second.clock.advanceSeconds(setup.clock.nowSeconds() - second.clock.nowSeconds())
      const digests = [setup.app, second.app].map((app) => startStatusDigest(app, 30))
      await disableTwo()
      await eventually(() => mailbox.mails.length > 0, 'the letter')
      await Promise.all([setup.app.background.idle(), second.app.background.idle()])
      for (const digest of digests) digest.stop()
      await second.close()
      expect(mailbox.mails).toHaveLength(1)
    })

    test('is sent at most every ten minutes', async () => {
      await disableTwo()
      await sendStatusDigest(setup.app)
      await disableTwo()
      expect(await sendStatusDigest(setup.app)).toBe(false)
      expect(mailbox.mails).toHaveLength(1)
      setup.clock.advanceSeconds(600)
      expect(await sendStatusDigest(setup.app)).toBe(true)
      expect(mailbox.mails).toHaveLength(2)
    })

    test('is not delayed by one that was sent while the clock was ahead', async () => {
      setup.clock.advanceSeconds(86_400)
      await disableTwo()
      expect(await sendStatusDigest(setup.app)).toBe(true)
      setup.clock.advanceSeconds(-86_400)
      await disableTwo()
      expect(await sendStatusDigest(setup.app)).toBe(true)
      expect(mailbox.mails).toHaveLength(2)
    })

    test('stays pending while email fails, and is dropped without a recipient', async () => {
      const port = setup.app.options.text('SMTPPort')
      await disableTwo()
      await setup.app.options.set('SMTPPort', '9')
      await expect(sendStatusDigest(setup.app)).rejects.toMatchObject({ code: 'mail_failed' })
      const untold = () =>
        setup.database.read.selectFrom('channel_notices').select('channel_id').execute()
      expect(await untold()).toHaveLength(2)
      setup.clock.advanceSeconds(600)
      await setup.app.options.set('SMTPServer', '')
      expect(await sendStatusDigest(setup.app)).toBe(true)
      expect(await untold()).toEqual([])
      await setup.app.options.set('SMTPPort', port)
      await mailThrough(setup, mailbox)
    })
  })
})
