import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { startPostgresCluster } from './postgres-cluster.ts'

async function setting(url: string, name: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  // A server that stops also emits an error besides the failed query.
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, string>>(`SHOW ${name}`)
    return rows[0]?.[name]
  } finally {
    await client.end()
  }
}

test('a durable cluster keeps fsync on and accepts further settings', async () => {
  const cluster = await startPostgresCluster({ isDurable: true, settings: { work_mem: '7MB' } })
  expect(await setting(cluster.url, 'fsync')).toBe('on')
  expect(await setting(cluster.url, 'work_mem')).toBe('7MB')
  await cluster.stop()
  await expect(setting(cluster.url, 'fsync')).rejects.toThrow('ECONNREFUSED')
})

test('an unknown setting is reported with the server’s message', async () => {
  await expect(startPostgresCluster({ settings: { nonsense: '1' } })).rejects.toThrow(/nonsense/)
})

// Otherwise every interrupted run would leave a server and 50 MB behind.
test('killing the owner stops the server and removes its files', async () => {
  const program = `
    import { startPostgresCluster } from './postgres-cluster.ts'
    console.log((await startPostgresCluster()).url)
    setInterval(() => undefined, 1_000)`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = (await once(owner.stdout, 'data')) as [Buffer] // signature of the 'data' event
  const url = output.toString().trim()
  expect(await setting(url, 'fsync')).toBe('off')
  const directory = dirname(String(await setting(url, 'data_directory')))
  expect(existsSync(directory)).toBe(true)

  owner.kill('SIGKILL')

  await vi.waitFor(() => expect(setting(url, 'fsync')).rejects.toThrow('ECONNREFUSED'), 60_000)
  await vi.waitFor(() => expect(existsSync(directory)).toBe(false), 60_000)
})
