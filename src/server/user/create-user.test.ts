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

  test('a made-up name holds the id, and stands for the one that is shown', async () => {
    const id = await create({ username: { madeFrom: 'github' } })
    expect(await row(id)).toMatchObject({
      username: `github_${id}`,
      display_name: `github_${id}`,
      password: '',
    })
  })

  test('a made-up name that somebody has taken before gets a tail', async () => {
    const last = await create({})
    for (let next = last + 2; next < last + 8; next += 1) {
      await create({ username: `lark_${next}` })
    }
    const id = await create({ username: { madeFrom: 'lark' } })
    expect((await row(id))?.username).toMatch(/^lark_\d+_[0-9A-Za-z]{6}$/)
  })

  test('an invite code that somebody has is replaced by another', async () => {
    const { aff_code } = (await row(await create({}))) ?? {}
    let attempts = 0
    const id = await create({
      async also(trx, userId) {
        attempts += 1
        // As if chance had made the same one.
        if (attempts > 1) return
        await trx.updateTable('users').set({ aff_code }).where('id', '=', userId).execute()
      },
    })
    expect(attempts).toBe(2)
    expect((await row(id))?.aff_code).not.toBe(aff_code)
  })

  test('without a password nobody signs in', async () => {
    const id = await create({})
    const username = (await row(id))?.username
    for (const password of ['', ' ', 'undefined']) {
      const body = { username, password }
      const answer = await server.call('POST', '/api/user/login', { body })
      expect(answer.json['success']).toBe(false)
    }
  })

  // A code that was used up for nothing, or an account without its identity, must not be left.
  test('what fails beside it leaves nothing behind', async () => {
    await server.app.options.set('QuotaForNewUser', '5')
    const before = await countUsers()
    const also = () => Promise.reject(new Error('the code is gone'))
    await expect(create({ also })).rejects.toThrow('the code is gone')
    expect(await countUsers()).toBe(before)
  })

  test('what is done beside it knows the id', async () => {
    let seen = 0
    const id = await create({
      also: async (_trx, userId) => {
        seen = userId
      },
    })
    expect(seen).toBe(id)
  })
})
