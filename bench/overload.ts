/**
 * npm run bench -- overload [--database postgres] [--other <checkout>]
 *
 * More calls than the server can serve, at a fixed rate: 2 and 5 times its peak. Shows how many are
 * served, how long those take, what a token with few calls gets beside one that floods, and memory.
 * The server runs on core 0, load and upstream on core 1.
 */
import { parseArgs } from 'node:util'
import { LOAD_CORE, MODEL, SERVER_CORE, startUpstream } from './contenders.ts'
import { createGatehouse, ROOT_PASSWORD, type DatabaseKind } from './gatehouse-server.ts'
import { runLoad } from './load.ts'
import { createChannel, createToken, giveQuota, signIn } from './management-client.ts'
import { runOverload, type TokenResult } from './overload-load.ts'
import { describeMachine, machineClock, markdownTable, publish } from './report.ts'
import os from 'node:os'

const EXPECTED = 'The answer is forty-two.'
const BODY = JSON.stringify({
  model: MODEL,
  messages: [{ role: 'user', content: 'What is the answer?' }],
})
const PLENTY = 1_000_000_000
const PEAK_CONNECTIONS = 64
/** Share of the peak that counts as idle, and that the light token asks for. */
const IDLE_SHARE = 0.05

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      database: { type: 'string', default: 'sqlite' },
      seconds: { type: 'string', default: '15' },
    },
  })
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  const database: DatabaseKind = values.database === 'postgres' ? 'postgres' : 'sqlite'
  const upstream = await startUpstream()
  const gatehouse = await createGatehouse({ database, core: SERVER_CORE, openFilesMin: 20_000 })
  const server = await gatehouse.start()
  try {
    const root = await signIn({ url: gatehouse.url, username: 'root', password: ROOT_PASSWORD })
    await giveQuota(root, 'root', PLENTY)
    await createChannel(root, { name: 'upstream', base_url: upstream.url, models: MODEL })
    const token = (name: string) =>
      createToken(root, { name, remain_quota: PLENTY, unlimited_quota: false })
    const [heavy, light] = [await token('heavy'), await token('light')]
    const url = `${gatehouse.url}/v1/chat/completions`
    const call = { url, body: BODY, expect: EXPECTED }
    const headers = { authorization: `Bearer ${heavy}` }
    const seconds = Number(values.seconds)
    const load = { connections: PEAK_CONNECTIONS, warmupSeconds: 10, seconds }
    const peak = (await runLoad({ ...call, ...load, headers }, LOAD_CORE)).perSecond
    const rows: string[][] = []
    const data: object[] = []
    for (const times of [IDLE_SHARE, 1, 2, 5]) {
      const perSecond = peak * times
      const lightRate = peak * IDLE_SHARE
      const tokens = [
        { key: heavy, perSecond: Math.max(0, perSecond - lightRate) },
        { key: light, perSecond: lightRate },
      ]
      const {
        all,
        tokens: each,
        firstFailure,
      } = await runOverload({ ...call, seconds, warmupSeconds: 3, tokens }, LOAD_CORE)
      if (firstFailure !== null) process.stdout.write(`failed:\n${firstFailure}\n`)
      const memory = server.rssMebibytes()
      const row = describe(times, { all, light: each[1] ?? all, peak, seconds, memory })
      process.stdout.write(`${row.join(' | ')}\n`)
      rows.push(row)
      data.push({ times, all, each, memory })
    }
    const machine = describeMachine(clock, loadBefore)
    await server.stop()
    const { exitCode } = await gatehouse.reconcile()
    const table = markdownTable({ columns: COLUMNS, rows })
    const text = `${machine}\n\nDatabase: ${database}. Peak with ${PEAK_CONNECTIONS} connections: ${Math.round(peak)} calls/s. \`reconcile\` ended with ${exitCode}.\n\n${table}`
    publish(`overload-${database}`, text, { machine, peak, data, exitCode })
    if (exitCode !== 0) process.exitCode = 1
  } finally {
    await server.stop()
    await gatehouse.remove()
    await upstream.process.stop()
  }
}

const COLUMNS = [
  'calls begun, of the peak',
  'served/s',
  'of the peak',
  'refused/s',
  'failed',
  'p50 ms',
  'p99 ms',
  'light token served',
  'light token p99 ms',
  'MiB',
]

interface Figures {
  all: TokenResult
  light: TokenResult
  peak: number
  seconds: number
  memory: number
}

const describe = (times: number, { all, light, peak, seconds, memory }: Figures): string[] => [
  `${times} ×`,
  String(Math.round(all.served / seconds)),
  `${Math.round((100 * all.served) / seconds / peak)} %`,
  String(Math.round(all.refused / seconds)),
  String(all.failed),
  all.p50Ms.toFixed(1),
  all.p99Ms.toFixed(1),
  `${Math.round((100 * light.served) / Math.max(1, light.begun))} %`,
  light.p99Ms.toFixed(1),
  String(Math.round(memory)),
]
