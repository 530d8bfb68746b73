import { forEachDatabase } from '../../test/for-each-database.ts'
import { testLogStore } from '../../test/log-store-cases.ts'
import { createTestDatabase } from '../../test/postgres.ts'
import { afterAll } from 'vitest'

forEachDatabase('a PostgreSQL of its own for the log, beside the main database', (open) => {
  const drops: (() => Promise<void>)[] = []
  testLogStore(async () => {
    const { url, drop } = await createTestDatabase()
    drops.push(drop)
    return url
  }, open)
  afterAll(async () => {
    for (const drop of drops) await drop()
  })
})
