import { expect, onTestFinished, test } from 'vitest'
import { newFolder } from './test/one-api-databases.ts'
import { createTestDatabase } from './test/postgres.ts'
import { runProgram } from './test/run-program.ts'

const TOKEN = 'a-watcher-of-this'

/** Starts two workers on an empty PostgreSQL database, and waits until both listen. */
async function startWorkers() {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const started = runProgram(
    ['serve', '--workers', '2'],
    {
      PORT: '0',
      SQL_DSN: database.url,
      LOG_FORMAT: 'json',
      METRICS_TOKEN: TOKEN,
      GLOBAL_API_RATE_LIMIT: '0',
    },
    newFolder(),
  )
  const lines = (): Record<string, unknown>[] =>
    started.said.out
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const workers = (): number[] =>
    lines()
      .filter(({ msg }) => msg === 'worker started')
      .map(({ worker }) => Number(worker))
  await expect.poll(() => workers().length).toBe(2)
  const address = String(lines().find((line) => 'address' in line)?.['address'])
  return { ...started, lines, workers, address }
}

/** Calls again and again until `end` is called. Returns the statuses. */
function keepCalling(address: string) {
  const statuses: unknown[] = []
  const loop = { isEnding: false }
  const call = async (): Promise<number> => {
    const response = await fetch(`${address}api/status`)
    await response.text()
    return response.status
  }
  const done = (async () => {
    // As HTTP clients do, a call is repeated once if its kept connection was closed before.
    while (!loop.isEnding) statuses.push(await call().catch(call).catch(String))
  })()
  return async () => {
    loop.isEnding = true
    await done
    return statuses
  }
}

test('workers share a port and their metrics, and are replaced without a failed call', async () => {
  const server = await startWorkers()
  const first = server.workers()
  for (let count = 0; count < 20; count += 1) {
    const response = await fetch(`${server.address}api/status`, {
      headers: { connection: 'close' },
    })
    expect(response.status).toBe(200)
    await response.text()
  }
  const metrics = async (): Promise<string> => (await fetch(`${server.address}metrics`)).text()
  // Each worker served a share; the one that reports counts the calls of all.
  await expect.poll(metrics).toContain('gatehouse_api_calls_total{status="200"} 20')
  expect(await metrics()).toMatch(/gatehouse_build_info\{version="[^"]+"\} 1/)

  const end = keepCalling(server.address)
  server.program.kill('SIGHUP')
  const stopped = () => server.lines().filter(({ msg }) => msg === 'worker stopped').length
  await expect.poll(stopped).toBe(2)
  const statuses = await end()
  expect(statuses.length).toBeGreaterThan(0)
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(server.workers()).toHaveLength(4)
  expect(server.workers().slice(2)).not.toEqual(expect.arrayContaining(first))

  server.program.kill('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0, err: '' })
  await expect(fetch(server.address)).rejects.toThrow('fetch failed')
})

test('a worker that was killed is replaced, and the other one serves meanwhile', async () => {
  const server = await startWorkers()
  process.kill(server.workers()[0] ?? 0, 'SIGKILL')
  const response = await fetch(`${server.address}api/status`)
  expect(response.status).toBe(200)
  await response.text()
  await expect.poll(() => server.workers().length).toBe(3)
  // Without their supervisor workers end too.
  server.program.kill('SIGKILL')
  const isServing = () =>
    fetch(server.address).then(
      () => true,
      () => false,
    )
  await expect.poll(isServing).toBe(false)
})

test('several workers need PostgreSQL; a first worker that cannot start ends all', async () => {
  const refused = await runProgram(['serve', '--workers', '2'], {}, newFolder()).ended
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('WORKERS: several') })
  const SQL_DSN = 'postgres://nobody:nothing@127.0.0.1:9/none'
  const failed = await runProgram(['serve', '--workers', '2'], { SQL_DSN }, newFolder()).ended
  expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('SQL_DSN') })
})
