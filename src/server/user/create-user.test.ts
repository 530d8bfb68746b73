import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomText } from '../secrets.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { createUser, type UserToCreate } from './create-user.ts'

forEachDatabase('createUser', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())

  const create = (user: Partial<UserToCreate>): Promise<number> =>
    createUser(server.app, {
      username: randomText(10),
      display_name: '',
      requestId: 'a request',
      ...user,
    })
  const row = (id: number) =>
    server.database.read.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
  const countUsers = async () =>
    (await server.database.read.selectFrom('users').select('id').execute()).length

  test('a generated name contains the id and serves as display name', async () => {
    const id = await create({ username: { madeFrom: 'github' } })
    expect(await row(id)).toMatchObject({
      username: `github_${id}`,
      display_name: `github_${id}`,
      password: '',
    })
  })

  test('a generated name that is taken gets a random suffix', async () => {
    const last = await create({})
    for (let next = last + 2; next < last + 8; next += 1) {
      await create({ username: `lark_${next}` })
    }
    const id = await create({ username: { madeFrom: 'lark' } })
    expect((await row(id))?.username).toMatch(/^lark_\d+_[0-9A-Za-z]{6}$/)
  })

  test('an invite code that is taken is replaced', async () => {
    const { aff_code } = (await row(await create({}))) ?? {}
    let attempts = 0
    const id = await create({
      async also(trx, userId) {
        attempts += 1
        // Simulates a collision of random codes.
        if (attempts > 1) return
        await trx.updateTable('users').set({ aff_code }).where('id', '=', userId).execute()
      },
    })
    expect(attempts).toBe(2)
    expect((await row(id))?.aff_code).not.toBe(aff_code)
  })

  test('a user without a password cannot sign in', async () => {
    const id = await create({})
    const username = (await row(id))?.username
    for (const password of ['', ' ', 'undefined']) {
      const body = { username, password }
      const answer = await server.call('POST', '/api/user/login', { body })
      expect(answer.json['success']).toBe(false)
    }
  })

  // A code must not be used up without a user, nor an account exist without its identity.
  test('a failure in `also` rolls everything back', async () => {
    await server.app.options.set('QuotaForNewUser', '5')
    const before = await countUsers()
    const also = () => Promise.reject(new Error('the code is gone'))
    await expect(create({ also })).rejects.toThrow('the code is gone')
    expect(await countUsers()).toBe(before)
  })

  test('`also` receives the id', async () => {
    let seen = 0
    const id = await create({
      also: async (_trx, userId) => {
        seen = userId
      },
    })
    expect(seen).toBe(id)
  })
})
