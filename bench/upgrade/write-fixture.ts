/**
 * node bench/upgrade/write-fixture.ts COMMIT
 *
 * Writes `fixtures/databases/gatehouse-<version>.sqlite` and `.postgres.sql`: the database of a
 * version that served users, tokens and streams and was killed during some of them. For PostgreSQL
 * only the rows: the tables are created by that version's migrations.
 */
import Sqlite from 'better-sqlite3'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startFakeUpstream } from '../../tools/fake-upstream/fake-upstream.ts'
import { startFastUpstream } from '../../tools/fake-upstream/fast-upstream.ts'
import { prepare, requestsOf } from '../crash.ts'
import { createGatehouse, type DatabaseKind } from '../gatehouse-server.ts'
import { connect } from '../raw-http.ts'
import { otherVersion, type OtherVersion } from './other-version.ts'

const FOLDER = path.join(import.meta.dirname, '../../fixtures/databases')
const STREAM_MS = 3000

async function write(database: DatabaseKind, version: OtherVersion): Promise<void> {
  const quick = await startFastUpstream()
  const paced = await startFakeUpstream()
  const gatehouse = await createGatehouse({ database })
  const server = await gatehouse.start({ program: version.program })
  try {
    // The last streams never end.
    const upstreams = { quick: quick.url, paced: `${paced.url}/~slow-chunk-2000` }
    const keys = await prepare(gatehouse, upstreams)
    const target = new URL(gatehouse.url)
    for (const key of keys) {
      const [whole, stream, pacedStream, limited] = requestsOf(target, key)
      for (const request of [whole, stream, limited]) {
        await answerTo(target, request ?? Buffer.alloc(0))
      }
      void answerTo(target, pacedStream ?? Buffer.alloc(0))
    }
    await sleep(STREAM_MS)
    await server.stop('SIGKILL')
    const file = path.join(FOLDER, `gatehouse-${version.version}.${database}`)
    if (database === 'sqlite') saveSqlite(gatehouse.sqlitePath, file)
    else writeFileSync(`${file}.sql`, await rowsOf(gatehouse.postgresUrl))
  } finally {
    await server.stop('SIGKILL')
    await gatehouse.remove()
    await quick.close()
    await paced.close()
  }
}

const answerTo = (target: URL, request: Buffer): Promise<void> =>
  new Promise((resolve) => {
    const connection = connect(target, {
      onResponse: () => {
        connection.close()
        resolve()
      },
      onClose: resolve,
    })
    connection.send(request)
  })

function saveSqlite(from: string, to: string): void {
  rmSync(to, { force: true })
  const database = new Sqlite(from)
  database.prepare('VACUUM INTO ?').run(to)
  database.close()
}

async function rowsOf(url: string): Promise<string> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(`SELECT table_name AS name
      FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`)
    const statements: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ rows: string | null }>(
        `SELECT json_agg(t)::text AS rows FROM public.${name} AS t`,
      )
      const text = rows[0]?.rows
      if (text === null || text === undefined) continue
      const literal = `'${text.replaceAll("'", "''").replaceAll(/,\s*\n\s*/g, ',\n ')}'`
      statements.push(
        `DELETE FROM ${name};`,
        `INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, ${literal});`,
      )
    }
    const sequences = await client.query<{ statement: string }>(`SELECT
      format('SELECT setval(%L, %s);', sequencename, last_value) AS statement
      FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL ORDER BY 1`)
    return [...statements, ...sequences.rows.map(({ statement }) => statement), ''].join('\n')
  } finally {
    await client.end()
  }
}

const version = await otherVersion(process.argv[2] ?? 'HEAD')
try {
  await write('sqlite', version)
  await write('postgres', version)
} finally {
  await version.remove()
}
