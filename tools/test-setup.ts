import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startPostgresCluster } from './postgres-cluster.ts'
import type { PostgresCluster } from './postgres-cluster.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /**
     * Responds to GET with the superuser URL of this run's PostgreSQL, which it starts on the first
     * request.
     */
    postgresStarter: string
    /** Part of every database name, so that runs can share a server. */
    testRun: string
  }
}

let starter: Server | undefined
let cluster: Promise<PostgresCluster> | undefined
const testRun = randomBytes(4).toString('hex')

/**
 * Runs once before all test files. PostgreSQL starts when a test first requests it, so that runs
 * without database tests do not wait for it. `TEST_POSTGRES_URL` selects another server.
 */
export async function setup(project: TestProject): Promise<void> {
  const server = createServer((_request, response) => {
    adminUrl().then(
      (url) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (!address || typeof address !== 'object') throw new Error('The system gave no port.')
  starter = server
  project.provide('postgresStarter', `http://127.0.0.1:${address.port}/`)
  project.provide('testRun', testRun)
}

export async function teardown(): Promise<void> {
  starter?.closeAllConnections()
  starter?.close()
  if (cluster) await (await cluster).stop()
  else if (process.env.TEST_POSTGRES_URL) await dropDatabases(process.env.TEST_POSTGRES_URL)
}

async function adminUrl(): Promise<string> {
  if (process.env.TEST_POSTGRES_URL) return process.env.TEST_POSTGRES_URL
  cluster ??= startPostgresCluster()
  return (await cluster).url
}

async function dropDatabases(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ datname: string }>(
    `SELECT datname FROM pg_database WHERE datname LIKE $1`,
    [`gatehouse\\_${testRun}\\_%`],
  )
  for (const { datname } of rows) {
    await client.query(`DROP DATABASE ${pg.escapeIdentifier(datname)} WITH (FORCE)`)
  }
  await client.end()
}
