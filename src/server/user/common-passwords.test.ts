import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { anAccessToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { updateUser } from './user-store.ts'

const COMMON = errorText('password_common', 'zh', {})
const IS_USERNAME = errorText('password_is_username', 'zh', {})

forEachDatabase('a common password', (open) => {
  let server: TestServer
  let root: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    await server.app.options.set('RefuseCommonPasswords', 'true')
  })
  afterAll(() => server.close())

  const send = async (
    call: { method: string; path: string; as?: object },
    body: Record<string, unknown>,
  ) => {
    const { method, path, ...as } = call
    return (await server.call(method, path, { ...as, body })).message
  }

  test('is refused wherever one is set, and so is the username', async () => {
    const accessToken = await anAccessToken(server, root.id)
    const user = await aUser(server, { username: `u${randomText(7)}` })
    const newName = `n${randomText(7)}`
    const calls: [Parameters<typeof send>[0], Record<string, unknown>, string][] = [
      [{ method: 'POST', path: '/api/user/register' }, { username: newName }, newName],
      [{ method: 'POST', path: '/api/user/', as: root }, { username: newName }, newName],
      [{ method: 'POST', path: '/api/user/', as: { accessToken } }, { username: newName }, newName],
      [{ method: 'PUT', path: '/api/user/', as: root }, { id: user.id }, user.username],
      [
        { method: 'PUT', path: '/api/user/', as: root },
        { id: user.id, username: newName },
        newName,
      ],
      [{ method: 'PUT', path: '/api/user/self', as: user }, {}, user.username],
    ]
    for (const [call, body, username] of calls) {
      const wrong: [string, string][] = [
        ['Password1', COMMON],
        [username.toUpperCase(), IS_USERNAME],
        [`${username} ${username}`, IS_USERNAME],
      ]
      for (const [password, message] of wrong) {
        expect([call, password, await send(call, { ...body, password })]).toEqual([
          call,
          password,
          message,
        ])
      }
    }
    const still = { username: user.username, password: user.password }
    const login = await server.call('POST', '/api/user/login', { body: still })
    expect(login.json).toMatchObject({ success: true })
  })

  test('that an account already has still signs in', async () => {
    const user = await aUser(server)
    const password = await server.app.passwords.hash('password1')
    await updateUser(server.database.write, user.id, { password })
    const body = { username: user.username, password: 'password1' }
    const { json } = await server.call('POST', '/api/user/login', { body })
    expect(json).toMatchObject({ success: true })
  })

  test('is accepted unless the option is on, as scripts for One API expect', async () => {
    await server.app.options.set('RefuseCommonPasswords', 'false')
    const body = { username: `n${randomText(7)}`, password: 'password1' }
    const { json } = await server.call('POST', '/api/user/', { as: root, body })
    expect(json).toMatchObject({ success: true })
  })
})
