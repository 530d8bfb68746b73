import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { Transform } from 'node:stream'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../test/postgres.ts'
import { checkEngine } from './engine-check.ts'
import { poolOf } from './postgres-pool.ts'

let database: TestDatabase
let pool: pg.Pool
beforeEach(async () => {
  database = await createTestDatabase()
  pool = poolOf(database.url, { max: 2 })
})
afterEach(async () => {
  await pool.end()
  await database.drop()
})

test('PostgreSQL has everything', async () => {
  await expect(checkEngine(pool)).resolves.toBeUndefined()
})

test('an engine without plpgsql is refused', async () => {
  await pool.query('DROP EXTENSION plpgsql')
  await expect(checkEngine(pool)).rejects.toThrow(/^It lacks the language plpgsql[^.]+\.$/)
})

// As in engines that accept the function for compatibility.
test('an engine whose advisory locks do nothing is refused', async () => {
  const name = new URL(database.url).pathname.slice(1)
  await pool.query(`
    CREATE FUNCTION pg_try_advisory_lock(a integer, b integer) RETURNS boolean
      LANGUAGE sql AS 'SELECT true';
    ALTER DATABASE "${name}" SET search_path = public, pg_catalog`)
  const next = poolOf(database.url, { max: 2 })
  await expect(checkEngine(next)).rejects.toThrow(/^Its advisory locks[^.]+\.$/)
  await next.end()
})

/** A server before the database that changes what passes to it, by a word of the same length. */
async function changing(url: string, from: string, to: string) {
  const { hostname, port } = new URL(url)
  const server = net.createServer((near) => {
    const far = net.connect(Number(port), hostname)
    for (const socket of [near, far]) socket.on('error', () => {})
    const change = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        done(null, Buffer.from(chunk.toString('latin1').replaceAll(from, to), 'latin1'))
      },
    })
    near.pipe(change).pipe(far).pipe(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const changed = new URL(url)
  // A server that listens on TCP has a port.
  changed.port = String((server.address() as AddressInfo).port)
  return { url: changed.href, close: () => server.close() }
}

test.each([
  ['rejects LISTEN', 'LISTEN', 'LISSEN'],
  ['accepts LISTEN and delivers nothing', 'NOTIFY gatehouse_check', 'NOTIFY gatehouse_other'],
])('an engine that %s is refused', async (_name, from, to) => {
  const link = await changing(database.url, from, to)
  const changed = poolOf(link.url, { max: 2 })
  await expect(checkEngine(changed)).rejects.toThrow(/^It does not pass on NOTIFY[^.]+\.$/)
  await changed.end()
  link.close()
})
