import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import {
  findChannel,
  insertChannels,
  lockChannel,
  updateChannel,
} from '../channel/channel-store.ts'
import { loadOptions } from '../option/option-store.ts'
import { enable, findSecondFactor, insertPending } from '../second-factor/second-factor-store.ts'
import { anAdmin } from '../test/factories.ts'
import {
  forEachDatabase,
  type DatabaseLocation,
  type OpenTestDatabase,
} from '../test/for-each-database.ts'
import { aClient, aModel, aRoute, chatBody, post, startRelay } from '../test/relay-setup.ts'
import { convertSecrets, countSecrets } from './convert-secrets.ts'
import { keyringOf, UnreadableSecret } from './keyring.ts'

const aKey = (): string => randomBytes(32).toString('hex')
const idOf = (key: string): string => keyringOf([key]).ids[0] ?? ''

const SECRETS = [
  'sk-first',
  'sk-second',
  'hidden-account',
  'proxy-password',
  'mail-password',
  'TOTPSECRET',
]

forEachDatabase('secrets at rest', (open) => {
  let location: DatabaseLocation
  let key: string
  const here: OpenTestDatabase = () => Promise.resolve(location)
  beforeEach(async () => {
    location = await open()
    key = aKey()
  })
  const closings: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    while (closings.length > 0) await closings.pop()?.()
  })

  async function start(SECRETS_KEY = key) {
    const setup = await startRelay(here, SECRETS_KEY === '' ? {} : { SECRETS_KEY })
    let isOpen = true
    const close = async () => {
      if (isOpen) await setup.close()
      isOpen = false
    }
    closings.push(close)
    return { ...setup, close }
  }

  /** Everything that the tables with secrets hold. */
  async function storedText({ database: { read } }: Awaited<ReturnType<typeof start>>) {
    const rows = await Promise.all([
      read.selectFrom('channels').select(['key', 'config']).execute(),
      read.selectFrom('options').selectAll().execute(),
      read.selectFrom('second_factors').select('secret').execute(),
    ])
    return JSON.stringify(rows)
  }

  async function fill(setup: Awaited<ReturnType<typeof start>>) {
    const model = aModel()
    const config = {
      sk: 'hidden-account',
      proxy: 'http://u:proxy-password@127.0.0.1:9',
      region: 'r',
    }
    const id = await aRoute(setup, model, { key: 'sk-first' })
    await setup.database.write.transaction().execute(async (trx) => {
      const row = await lockChannel(trx, id)
      if (row !== null) await updateChannel(trx, row, { key: 'sk-first\nsk-second' })
    })
    const other = await aRoute(setup, aModel(), { config: JSON.stringify(config) })
    await setup.app.options.set('SMTPToken', 'mail-password')
    await setup.database.write
      .transaction()
      .execute((trx) =>
        insertPending(trx, { userId: 1, secret: 'TOTPSECRET', codeHashes: ['x'], nowSeconds: 1 }),
      )
    return { model, id, other }
  }

  test('with a key alone nothing is encrypted, so the way back to One API stays', async () => {
    const setup = await start()
    await fill(setup)
    const text = await storedText(setup)
    for (const secret of SECRETS) expect(text).toContain(secret)
  })

  test('encrypted secrets appear nowhere in the tables and work as before', async () => {
    const setup = await start()
    const { model, id, other } = await fill(setup)
    const before = await findChannel(setup.database.read, other)
    expect(await convertSecrets(setup.database, idOf(key))).toBe(6)
    const later = await aRoute(setup, aModel(), { key: 'sk-later' })
    const text = await storedText(setup)
    for (const secret of [...SECRETS, 'sk-later']) expect(text).not.toContain(secret)
    expect(await findChannel(setup.database.read, other)).toEqual(before)
    expect(await findChannel(setup.database.read, later)).toMatchObject({ key: 'sk-later' })
    await setup.database.announce('everything')
    const client = await aClient(setup)
    setup.upstream.seen()
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    expect(setup.upstream.seen()[0]?.headers['authorization']).toMatch(/^Bearer sk-(first|second)$/)

    const admin = await anAdmin(setup)
    const found = await setup.call('GET', '/api/channel/search?keyword=sk-second', { as: admin })
    expect(found.data).toMatchObject([{ id }])
    expect((await loadOptions(setup.database.read)).get('SMTPToken')).toBe('mail-password')
    const factor = await findSecondFactor(setup.database.read, 1)
    expect(factor).toMatchObject({ secret: 'TOTPSECRET', isEnabled: false })
    await setup.database.write.transaction().execute(async (trx) => {
      expect(await enable(trx, { userId: 1, secret: 'OTHER', isEnabled: false }, 2)).toBe(false)
      expect(await enable(trx, { userId: 1, secret: 'TOTPSECRET', isEnabled: false }, 2)).toBe(true)
    })
  })

  test('a value is invalid in another row, and a changed one too', async () => {
    const setup = await start()
    const { id, other } = await fill(setup)
    await convertSecrets(setup.database, idOf(key))
    const { write, read } = setup.database
    const { key: stored } = await write
      .selectFrom('channels')
      .select('key')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    await write.updateTable('channels').set({ key: stored }).where('id', '=', other).execute()
    await expect(findChannel(read, other)).rejects.toThrow(UnreadableSecret)
    await setup.close()
    await expect(openDatabase(location, undefined, keyringOf([key]))).rejects.toThrow(
      `channels.key ${other} was changed`,
    )
  })

  test('without the key, or with another one, nothing opens the database', async () => {
    const setup = await start()
    await fill(setup)
    await convertSecrets(setup.database, idOf(key))
    await setup.close()
    for (const keys of [[], [aKey()]]) {
      await expect(openDatabase(location, undefined, keyringOf(keys))).rejects.toThrow(
        `encrypted with the key ${idOf(key)}, which is not in SECRETS_KEY`,
      )
    }
  })

  test('a new key replaces the old one in batches while servers with both write', async () => {
    const first = await start()
    await fill(first)
    await first.database.write.transaction().execute((trx) =>
      // More than one batch.
      insertChannels(
        trx,
        Array.from({ length: 450 }, (_, at) => ({ ...CHANNEL, key: `k${at}` })),
        1,
      ),
    )
    await convertSecrets(first.database, idOf(key))
    await first.close()
    const next = aKey()
    const both = await start(`${next},${key}`)
    const server = await openDatabase(location, undefined, keyringOf([key, next]))
    closings.push(() => server.close())
    const [, converted] = await Promise.all([
      server.write.transaction().execute(async (trx) => {
        const row = await lockChannel(trx, 300)
        if (row !== null) await updateChannel(trx, row, { key: 'k-new' })
      }),
      convertSecrets(both.database, idOf(next)),
    ])
    expect(converted).toBeGreaterThanOrEqual(454)
    expect([...(await countSecrets(both.database.read)).keys()]).toEqual([idOf(next)])
    const only = await openDatabase(location, undefined, keyringOf([next]))
    closings.push(() => only.close())
    expect(await findChannel(only.read, 300)).toMatchObject({ key: 'k-new' })
  })

  test('decrypted, the tables are as One API wrote them', async () => {
    const setup = await start()
    await fill(setup)
    const before = await storedText(setup)
    await convertSecrets(setup.database, idOf(key))
    expect(await convertSecrets(setup.database, '')).toBe(6)
    expect(await storedText(setup)).toBe(before)
    await setup.close()
    await (await openDatabase(location)).close()
  })

  test('a plain key that looks encrypted is refused', async () => {
    const setup = await start()
    const stored = keyringOf([key]).encrypt('x', 'channels.key 1', idOf(key))
    const answer = await setup.call('POST', '/api/channel/', {
      as: await anAdmin(setup),
      body: { type: 1, name: 'c', key: stored, models: 'm', group: 'default' },
    })
    expect(answer.message).toContain('不能是已加密的值')
  })
})

const CHANNEL = {
  type: 1,
  key: '',
  status: 1,
  name: 'c',
  weight: 0,
  base_url: '',
  other: '',
  models: 'm',
  group: 'default',
  model_mapping: '',
  priority: 0,
  config: '',
  system_prompt: '',
  test_model: '',
}
