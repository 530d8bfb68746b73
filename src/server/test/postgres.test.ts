import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { forEachDatabase } from './for-each-database.ts'
import type { DatabaseLocation } from './for-each-database.ts'
import { createTestDatabase } from './postgres.ts'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<object>(sql)).rows
  } finally {
    await client.end()
  }
}

test('two databases are independent', async () => {
  const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()])
  await query(one.url, 'CREATE TABLE mark (id int)')
  await expect(query(two.url, 'SELECT * FROM mark')).rejects.toThrow('does not exist')
  await Promise.all([one.drop(), two.drop()])
})

test('a dropped database is gone, even with a connected client', async () => {
  const { url, drop } = await createTestDatabase()
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  await drop()
  await expect(query(url, 'SELECT 1')).rejects.toThrow('does not exist')
})

test('a template is prepared once and every copy has its contents', async () => {
  let preparations = 0
  const template = {
    name: 'with_mark',
    async prepare(url: string) {
      preparations += 1
      await query(url, 'CREATE TABLE mark (id int); INSERT INTO mark VALUES (7)')
    },
  }
  const databases = await Promise.all([1, 2, 3].map(() => createTestDatabase(template)))
  for (const { url } of databases) {
    expect(await query(url, 'SELECT id FROM mark')).toEqual([{ id: 7 }])
  }
  expect(preparations).toBe(1)
  await Promise.all(databases.map((database) => database.drop()))
})

test('upper and lower case follow Unicode, not ASCII', async () => {
  const { url, drop } = await createTestDatabase()
  expect(await query(url, `SELECT lower('ÄÉ') AS text`)).toEqual([{ text: 'äé' }])
  await drop()
})

const opened: DatabaseLocation[] = []
const seen = new Set<string>()

forEachDatabase('a suite', (open) => {
  test('gets a new database on each engine', async () => {
    const location = await open()
    opened.push(location)
    seen.add(location.engine)
    if (location.engine === 'sqlite') await writeFile(location.path, '')
    else expect(await query(location.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('has its databases removed after each test', async () => {
    const [previous] = opened.slice(-1)
    if (previous?.engine === 'sqlite') expect(existsSync(dirname(previous.path))).toBe(false)
    else await expect(query(previous?.url ?? '', 'SELECT 1')).rejects.toThrow('does not exist')
  })
})

afterAll(() => {
  expect([...seen].toSorted()).toEqual(['postgres', 'sqlite'])
})
