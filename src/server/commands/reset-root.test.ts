import { expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { insertPasskey } from '../passkey/passkey-store.ts'
import { enable, insertPending } from '../second-factor/second-factor-store.ts'
import { aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { environmentOf, runCommand } from '../test/run-command.ts'
import { ROOT_PASSWORD, startTestServer, type TestServer } from '../test/test-app.ts'
import { findFirstRoot } from '../user/user-store.ts'

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

/** Gives a user an enabled authenticator app, a recovery code and a passkey. */
async function addFactors({ database }: TestServer, userId: number): Promise<void> {
  await database.write.transaction().execute(async (trx) => {
    await insertPending(trx, { userId, secret: SECRET, codeHashes: ['hash'], nowSeconds: 1 })
    await enable(trx, { userId, secret: SECRET, isEnabled: false }, 1)
    await insertPasskey(trx, {
      credentialId: `passkey-${userId}`,
      userId,
      name: 'Passkey',
      publicKey: 'pQECAw',
      counter: 0,
      transports: [],
      createdAt: 1,
      usedAt: 0,
    })
  })
}

forEachDatabase('gatehouse reset-root', (open) => {
  test('deletes second factor, recovery codes and passkeys of root only', async () => {
    const location = await open()
    const server = await startTestServer(() => Promise.resolve(location))
    const root = await findFirstRoot(server.database.read)
    const rootId = root?.id ?? 0
    const other = await aUser(server, { role: Role.root })
    for (const id of [rootId, other.id]) await addFactors(server, id)
    const logIn = async (at: TestServer, password: string) =>
      (
        await at.call('POST', '/api/user/login', {
          body: { username: 'root', password },
        })
      ).data
    expect(await logIn(server, ROOT_PASSWORD)).toMatchObject({ require_2fa: true })
    await server.close()

    const args = ['reset-root', '--password', 'AnotherPass1']
    expect(await runCommand(args, environmentOf(location))).toMatchObject({ code: 0, err: '' })

    const later = await startTestServer(() => Promise.resolve(location))
    for (const table of ['second_factors', 'recovery_codes', 'passkeys'] as const) {
      const left = await later.database.read.selectFrom(table).select('user_id').execute()
      expect([table, left]).toEqual([table, [{ user_id: other.id }]])
    }
    expect(await logIn(later, 'AnotherPass1')).toMatchObject({ id: rootId })
    await later.close()
  })
})
