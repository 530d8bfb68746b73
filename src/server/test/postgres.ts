import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

export interface TestDatabase {
  /** `postgres://…` of an empty or template-based database. */
  url: string
  /** Removes the database, even with connected clients. */
  drop(): Promise<void>
}

/**
 * Initial content of the databases of a run: built once and then copied, which is much faster than
 * migrating each.
 */
export interface DatabaseTemplate {
  /** Letters and underscores; one template per name and test run. */
  name: string
  /** Fills the empty database at `url` and disconnects from it. */
  prepare(url: string): Promise<void>
}

/** Creates a PostgreSQL database for one test: a copy of `template` if given, else empty. */
export async function createTestDatabase(template?: DatabaseTemplate): Promise<TestDatabase> {
  const source = template ? await templateName(template) : 'template0'
  const name = databaseName(randomBytes(6).toString('hex'))
  await asAdmin((client) =>
    client.query(`CREATE DATABASE ${quoted(name)} TEMPLATE ${quoted(source)}`),
  )
  return {
    url: await databaseUrl(name),
    drop: () => asAdmin((client) => dropDatabase(client, name)),
  }
}

const preparedTemplates = new Map<string, Promise<string>>()

function templateName(template: DatabaseTemplate): Promise<string> {
  const known = preparedTemplates.get(template.name)
  if (known) return known
  const prepared = prepareTemplate(template)
  preparedTemplates.set(template.name, prepared)
  return prepared
}

async function prepareTemplate({ name, prepare }: DatabaseTemplate): Promise<string> {
  const finished = databaseName(name)
  const unfinished = databaseName(`${name}_unfinished`)
  await asAdmin(async (client) => {
    // Test files run in several processes: the first one builds, the others wait here. The template
    // gets its final name only when it is complete.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [finished])
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [
      finished,
    ])
    if (rowCount) return
    await dropDatabase(client, unfinished)
    await client.query(`CREATE DATABASE ${quoted(unfinished)} TEMPLATE template0`)
    await prepare(await databaseUrl(unfinished))
    await client.query(`ALTER DATABASE ${quoted(unfinished)} RENAME TO ${quoted(finished)}`)
  })
  return finished
}

let adminUrl: Promise<string> | undefined

async function startedServer(): Promise<string> {
  const response = await fetch(inject('postgresStarter'))
  const answer = await response.text()
  if (!response.ok) throw new Error(answer)
  return answer
}

async function asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  adminUrl ??= startedServer()
  const client = new pg.Client({ connectionString: await adminUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function databaseUrl(name: string): Promise<string> {
  adminUrl ??= startedServer()
  const url = new URL(await adminUrl)
  url.pathname = `/${name}`
  return url.href
}

async function dropDatabase(client: pg.Client, name: string): Promise<void> {
  await client.query(`DROP DATABASE IF EXISTS ${quoted(name)} WITH (FORCE)`)
}

function databaseName(word: string): string {
  return `gatehouse_${inject('testRun')}_${word}`
}

function quoted(name: string): string {
  return pg.escapeIdentifier(name)
}
