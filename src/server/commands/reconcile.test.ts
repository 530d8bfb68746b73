import { expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { environmentOf, runCommand } from '../test/run-command.ts'
import { startTestServer } from '../test/test-app.ts'

forEachDatabase('gatehouse reconcile', (open) => {
  test('reports an audit entry that was changed behind its back, and exits with 1', async () => {
    const location = await open()
    const server = await startTestServer(() => Promise.resolve(location))
    const root = await aUser(server, { role: Role.root })
    for (const value of ['first', 'second']) {
      const body = { key: 'About', value }
      const saved = await server.call('PUT', '/api/option/', { as: root, body })
      expect(saved.json).toMatchObject({ success: true })
    }
    const env = environmentOf(location)
    const whole = await runCommand(['reconcile'], env)
    expect(whole).toMatchObject({ code: 0, err: '' })
    expect(whole.out).toContain('the audit is complete: 2 entries in an unbroken chain')
    const { write } = server.database
    const [first] = await write.selectFrom('audit').select('id').orderBy('id').limit(1).execute()
    const id = first?.id ?? 0
    await write.updateTable('audit').set({ actor_id: 9 }).where('id', '=', id).execute()
    const broken = await runCommand(['reconcile'], env)
    expect(broken).toMatchObject({ code: 1, err: '' })
    expect(broken.out).toContain(`audit entry ${id} (option.update, actor 9) was changed`)
    expect(broken.out).toContain('1 breaks in the audit')
    expect(broken.out).toContain('the ledger balances: 0 differences')
    await server.close()
  })
})
