import { expect, test } from 'vitest'
import { createFirstRoot, replaceDefaultPassword } from './bootstrap.ts'
import { systemClock } from './clock.ts'
import { parseConfig } from './config.ts'
import { openDatabase } from './commands/open-database.ts'
import { saveOption } from './option/option-store.ts'
import { expectBooksBalanced } from './test/expect-books-balanced.ts'
import { forEachDatabase } from './test/for-each-database.ts'
import { createPasswords } from './user/password.ts'

const PASSWORD_COST = 4

forEachDatabase('the first start', (open) => {
  test('creates one root, and only one of several parallel starts reports it', async () => {
    const location = await open()
    const { config } = parseConfig({ HOST: '0.0.0.0', INITIAL_ROOT_TOKEN: 'k'.repeat(48) })
    const passwords = createPasswords(PASSWORD_COST)
    const handles = await Promise.all(Array.from({ length: 4 }, () => openDatabase(location)))
    const made = await Promise.all(
      handles.map((database) =>
        createFirstRoot(config, { database, passwords, clock: systemClock }),
      ),
    )
    const [told, ...others] = made.filter((root) => root !== null)
    expect(others).toEqual([])
    const [database] = handles
    if (database === undefined) throw new Error('there are four')
    const users = await database.read.selectFrom('users').selectAll().execute()
    expect(users.map(({ username }) => username)).toEqual(['root'])
    expect(await passwords.verify(told?.password ?? '', users[0]?.password ?? '')).toBe(true)
    expect(await database.read.selectFrom('tokens').selectAll().execute()).toHaveLength(1)
    await expectBooksBalanced(database)
    for (const handle of handles) await handle.close()
  })
  test('replaces the default password after ServerAddress gets a public address', async () => {
    const database = await openDatabase(await open())
    const { config } = parseConfig({})
    const passwords = createPasswords(PASSWORD_COST)
    const clock = systemClock
    const first = await createFirstRoot(config, { database, passwords, clock })
    expect(first).toEqual({ isFirst: true, password: null })
    await saveOption(database.write, 'ServerAddress', 'http://localhost:3000')
    expect(await replaceDefaultPassword(config, { database, passwords })).toBeNull()
    await saveOption(database.write, 'ServerAddress', 'https://gw.example.com')
    const replaced = await replaceDefaultPassword(config, { database, passwords })
    const root = await database.read.selectFrom('users').select('password').executeTakeFirst()
    expect(await passwords.verify(replaced?.password ?? '', root?.password ?? '')).toBe(true)
    expect(await replaceDefaultPassword(config, { database, passwords })).toBeNull()
    await database.close()
  })
})
