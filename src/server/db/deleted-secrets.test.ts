import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aChannel, aToken, aUser } from '../test/factories.ts'
import { startTestServer } from '../test/test-app.ts'

// SQLite marks deleted rows as free and leaves their bytes in the file unless configured otherwise.
test('deleted or replaced keys cannot be read in the SQLite file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-deleted-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'gatehouse.db')
  const server = await startTestServer(() => Promise.resolve({ engine: 'sqlite', path }))
  const root = await aUser(server, { role: Role.root })
  const kept = 'sk-KEPTCHANNELKEY'
  const secrets = ['sk-DELETEDCHANNELKEY', 'DELETEDTOKENKEY'.padEnd(48, 'x'), 'REPLACEDSMTPSECRET']
  const [channelKey = '', tokenKey = '', optionSecret = ''] = secrets
  await aChannel(server, { key: kept })
  const channelId = await aChannel(server, { key: channelKey })
  const token = await aToken(server, root.id, { key: tokenKey })
  await server.app.options.set('SMTPToken', optionSecret)

  for (const address of [`/api/channel/${channelId}`, `/api/token/${token.id}`]) {
    expect((await server.call('DELETE', address, { as: root })).json['success']).toBe(true)
  }
  await server.app.options.set('SMTPToken', 'sk-another')
  await server.close()

  const file = readFileSync(path, 'latin1')
  expect(file).toContain(kept)
  expect(secrets.filter((secret) => file.includes(secret))).toEqual([])
})
