import { Secret, TOTP } from 'otpauth'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { environmentOf, runCommand } from '../test/run-command.ts'
import { FIXTURES_BY_ENGINE } from '../test/one-api-databases.ts'
import { startTestServer } from '../test/test-app.ts'
import { keyringOf } from './keyring.ts'

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

test.each(FIXTURES_BY_ENGINE)(
  'secrets of authenticator apps that %s adopts from New API are encrypted and work',
  async (_engine, open) => {
    const database = await open()
    await database.run(`CREATE TABLE two_fas (id integer, user_id integer, secret varchar(255),
        is_enabled boolean, deleted_at timestamp);
      INSERT INTO two_fas (id, user_id, secret, is_enabled) VALUES (1, 1, '${SECRET}', true)`)
    const SECRETS_KEY = randomBytes(32).toString('hex')
    const env = { ...environmentOf(database.location), SECRETS_KEY }
    const stored = () => database.rows('SELECT secret FROM second_factors')
    expect(await runCommand(['adopt'], env)).toMatchObject({ code: 0 })
    // Encryption is a step of its own, so that New API can use the database again until then.
    expect(await stored()).toEqual([{ secret: SECRET }])

    const copies = 'two_fas.secret holds 1 unencrypted secrets'
    const dry = await runCommand(['encrypt-secrets', '--dry-run'], env)
    expect(dry).toMatchObject({ code: 0, err: '', out: expect.stringContaining(copies) })
    const encrypted = await runCommand(['encrypt-secrets'], env)
    expect(encrypted).toMatchObject({ code: 0, err: '', out: expect.stringContaining(copies) })
    const [row] = await stored()
    const [id] = keyringOf([SECRETS_KEY]).ids
    expect(row?.['secret']).toMatch(new RegExp(`^gh1:${id}:`))
    expect(row?.['secret']).not.toContain(SECRET)

    const server = await startTestServer(() => Promise.resolve(database.location), { SECRETS_KEY })
    const body = { username: 'root', password: 'RootPass1' }
    const { data } = await server.call('POST', '/api/user/login', { body })
    const timestamp = server.clock.nowSeconds() * 1000
    const code = new TOTP({ secret: Secret.fromBase32(SECRET) }).generate({ timestamp })
    const entered = await server.call('POST', '/api/user/login/2fa', {
      body: { code, flow_token: Object(data).flow_token },
    })
    expect(entered.data).toMatchObject({ id: 1 })
    await server.close()
  },
)
