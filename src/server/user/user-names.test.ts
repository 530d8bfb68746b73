import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { openDatabase } from '../commands/open-database.ts'
import { randomText } from '../secrets.ts'
import { aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { createUser } from './create-user.ts'

forEachDatabase('usernames', (open) => {
  let location: DatabaseLocation
  let server: TestServer
  let root: TestUser
  beforeAll(async () => {
    location = await open()
    server = await startTestServer(() => Promise.resolve(location))
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())

  const newName = () => `a${randomText(6).toLowerCase()}`
  const register = (username: string) =>
    server.call('POST', '/api/user/register', { body: { username, password: PASSWORD } })
  const create = (username: string) =>
    server.call('POST', '/api/user/', { as: root, body: { username, password: PASSWORD } })
  const rename = (user: TestUser, username: string) =>
    server.call('PUT', '/api/user/self', { as: user, body: { username } })
  const renameByRoot = (user: TestUser, username: string) =>
    server.call('PUT', '/api/user/', { as: root, body: { id: user.id, username } })
  const signIn = (username: string) =>
    server.call('POST', '/api/user/login', { body: { username, password: PASSWORD } })
  const alike = (name: string) => errorText('username_alike', 'zh', { name })

  test('a name similar to another or to a reserved one is rejected everywhere', async () => {
    const { username } = await aUser(server, { username: newName() })
    const other = await aUser(server)
    const admin = await aUser(server, { role: Role.admin })
    for (const name of [username.toUpperCase(), `\u0430${username.slice(1)}`, 'Root', 'ADMIN']) {
      const answers = [
        await register(name),
        await create(name),
        await rename(other, name),
        await rename(admin, name),
        await renameByRoot(other, name),
      ]
      for (const { message } of answers) expect(message).toBe(alike(name))
    }
    expect((await register(username)).message).toBe(
      errorText('username_taken', 'zh', { name: username }),
    )
  })

  test('of similar names requested in parallel one is accepted', async () => {
    const name = newName()
    const names = [name, name.toUpperCase(), `\u0430${name.slice(1)}`, `A${name.slice(1)}`]
    const answers = await Promise.all(names.map(register))
    expect(answers.filter(({ json }) => json['success'] === true)).toHaveLength(1)
    expect(server.faults).toEqual([])
  })

  test('users may change the case of their own name, or send it back unchanged', async () => {
    const user = await aUser(server, { username: newName() })
    const name = user.username.toUpperCase()
    for (const wanted of [user.username, name, name]) {
      expect((await rename(user, wanted)).json['success']).toBe(true)
    }
    expect((await signIn(name)).data).toMatchObject({ id: user.id })
  })

  test('a super admin may have a reserved name', async () => {
    const second = await aUser(server, { role: Role.root })
    expect((await rename(second, 'system')).json['success']).toBe(true)
    expect((await rename(second, newName())).json['success']).toBe(true)
  })

  test('a former or deleted name is free again, also for similar names', async () => {
    const name = newName()
    const user = await aUser(server, { username: name })
    await rename(user, newName())
    const next = await aUser(server, { username: name.toUpperCase() })
    await server.call('DELETE', '/api/user/self', { as: next })
    expect((await register(name)).json['success']).toBe(true)
  })

  test('a generated name avoids similar names', async () => {
    const app = { ...server.app }
    const { username } = await aUser(server)
    const madeFrom = newName()
    const id = await createUser(app, { username, display_name: '', requestId: '' }).catch(
      () => null,
    )
    expect(id).toBeNull()
    const last = await aUser(server)
    // The next generated name, in upper case.
    await aUser(server, { username: `${madeFrom}_${last.id + 2}`.toUpperCase() })
    const made = await createUser(app, {
      username: { madeFrom },
      display_name: '',
      requestId: '',
    })
    const row = await server.database.read
      .selectFrom('users')
      .select('username')
      .where('id', '=', made)
      .executeTakeFirstOrThrow()
    expect(row.username).toMatch(new RegExp(`^${madeFrom}_\\d+_\\w{6}$`))
  })

  describe('signing in', () => {
    test.each([
      ['surrounding blanks', (name: string) => `  ${name}\t`],
      ['another case', (name: string) => name.toUpperCase()],
    ])('ignores %s', async (_what, typed) => {
      const user = await aUser(server, { username: newName() })
      expect((await signIn(typed(user.username))).data).toMatchObject({ id: user.id })
    })

    test('rejects a similar name', async () => {
      const user = await aUser(server, { username: newName() })
      const answer = await signIn(`\u0430${user.username.slice(1)}`)
      expect(answer.message).toBe(errorText('wrong_credentials', 'zh'))
    })
  })

  // In One API names are case-sensitive.
  test('adopted similar names stay; an exact match takes precedence', async () => {
    const name = newName()
    const twins = [await aUser(server), await aUser(server)]
    const [small, capital] = twins
    if (small === undefined || capital === undefined) throw new Error('two are needed')
    const { write } = server.database
    const setName = (id: number, username: string) =>
      write.updateTable('users').set({ username }).where('id', '=', id).execute()
    await setName(small.id, name)
    await setName(capital.id, name.toUpperCase())
    // Rows written by One API are read when the database is opened.
    await (await openDatabase(location)).close()
    expect((await signIn(name)).data).toMatchObject({ id: small.id })
    expect((await signIn(name.toUpperCase())).data).toMatchObject({ id: capital.id })
    const mixed = `A${name.slice(1)}`
    expect((await signIn(mixed)).message).toBe(errorText('wrong_credentials', 'zh'))
    expect((await register(mixed)).message).toBe(alike(mixed))
    // The key passes to the other user, and is free after both are gone.
    await rename(small, newName())
    expect((await register(mixed)).message).toBe(alike(mixed))
    expect((await signIn(mixed)).data).toMatchObject({ id: capital.id })
    await rename(capital, newName())
    expect((await register(mixed)).json['success']).toBe(true)
  })
})
