import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import type { DatabaseLocation } from '../src/server/test/for-each-database.ts'
import { startPostgresCluster } from '../tools/postgres-cluster.ts'

/** Empty databases of one kind, for servers that run in the benchmark's process. */
export interface FreshDatabases {
  open(): Promise<DatabaseLocation>
  /** Removes all of them. */
  remove(): Promise<void>
}

/** Parses a comma list of database kinds; throws on an unknown one. */
export function databaseKinds(list: string): DatabaseLocation['engine'][] {
  return list.split(',').map((kind) => {
    if (kind !== 'sqlite' && kind !== 'postgres') throw new Error(`unknown database ${kind}`)
    return kind
  })
}

export async function freshDatabases(kind: DatabaseLocation['engine']): Promise<FreshDatabases> {
  let made = 0
  if (kind === 'sqlite') {
    const directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-bench-'))
    return {
      open: () =>
        Promise.resolve({ engine: 'sqlite', path: path.join(directory, `${(made += 1)}.db`) }),
      remove: () => rm(directory, { recursive: true, force: true }),
    }
  }
  const cluster = await startPostgresCluster()
  return {
    async open() {
      const name = `fresh_${(made += 1)}`
      const client = new pg.Client({ connectionString: cluster.url })
      await client.connect()
      await client.query(`CREATE DATABASE ${name}`)
      await client.end()
      const url = new URL(cluster.url)
      url.pathname = `/${name}`
      return { engine: 'postgres', url: url.href }
    },
    remove: () => cluster.stop(),
  }
}
