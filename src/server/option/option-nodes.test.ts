import { expect, test } from 'vitest'
import { anAdmin } from '../test/factories.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { startTestServer } from '../test/test-app.ts'
import { expectWithinASecond } from '../test/within-a-second.ts'

test('a setting changed through one process applies in all of them within a second', async () => {
  const { url, drop } = await createTestDatabase()
  const open = async () => ({ engine: 'postgres' as const, url })
  const first = await startTestServer(open)
  const second = await startTestServer(open)
  try {
    const admin = await anAdmin(first)
    const put = (key: string, value: string) =>
      first.call('PUT', '/api/option/', { as: admin, body: { key, value } })
    await put('SystemName', '到处都是')
    await put('ModelRatio', '{"shared-model":3.5}')
    const nameIn = async () =>
      Object((await second.call('GET', '/api/status')).data).system_name as string
    const ratioIn = () => second.app.options.ratios().model.get('shared-model')
    await expectWithinASecond(async () => expect(await nameIn()).toBe('到处都是'))
    await expectWithinASecond(async () => expect(ratioIn()).toBe('3.5'))
    expect(second.app.options.ratios().version).toBe(first.app.options.ratios().version)
  } finally {
    await first.close()
    await second.close()
    await drop()
  }
})
