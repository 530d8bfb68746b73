/**
 * npm run bench -- <name> [options]
 *
 * relay requests per second, latency and memory, compared with other gateways
 * crash SIGKILL under load; the books must be right every time
 * logs pages, statistics and filters of the log with millions of rows
 * clickhouse tests of the log store on ClickHouse's engine, and its figures beside PostgreSQL's
 * export a large export, and its effect on the relay
 * streams many concurrent event streams
 * console accessibility, layout shift and response to clicks, in a browser
 * cuts streams cut at a random byte are charged for what was produced
 * faults many channels that fail, stall, cut, throttle and recover
 * enumeration whether responses reveal which accounts and codes exist
 * dialects cost of converting between the dialects of client and upstream
 * balance calls that exceed small balances: served, rejected, cut, points, seconds
 * memory resident memory under withheld request bodies and compressed responses
 * upgrade from the previous version to this one under load, and back
 * overload more calls than the server can serve, at a fixed rate
 * fuzz random calls generated from the API description
 * soak an hour at half of the peak: memory, open files and the books
 * failover a PostgreSQL replica promoted under load; the books must be right
 * workers one and several workers on one PostgreSQL
 * hot-channel several processes that settle calls of one channel
 * clients real client programs run a task with tools, through every upstream protocol
 */
import { resolve } from 'node:path'
import { buildIfStale } from '../tools/build.ts'

const benchmarks = new Map([
  ['relay', () => import('./relay.ts')],
  ['crash', () => import('./crash.ts')],
  ['logs', () => import('./logs/logs.ts')],
  ['clickhouse', () => import('./clickhouse/clickhouse.ts')],
  ['export', () => import('./logs/export.ts')],
  ['streams', () => import('./streams.ts')],
  ['console', () => import('./console/console.ts')],
  ['cuts', () => import('./cuts/cut-streams.ts')],
  ['faults', () => import('./faults/faults.ts')],
  ['enumeration', () => import('./enumeration/enumeration.ts')],
  ['dialects', () => import('./dialects/dialects.ts')],
  ['balance', () => import('./balance.ts')],
  ['memory', () => import('./memory.ts')],
  ['upgrade', () => import('./upgrade/upgrade.ts')],
  ['overload', () => import('./overload.ts')],
  ['failover', () => import('./failover.ts')],
  ['soak', () => import('./soak/soak.ts')],
  ['workers', () => import('./workers.ts')],
  ['hot-channel', () => import('./hot-channel.ts')],
  ['fuzz', () => import('./fuzz.ts')],
  ['clients', () => import('./clients/clients.ts')],
])

await buildIfStale(resolve(import.meta.dirname, '..'))
const [name = '', ...args] = process.argv.slice(2)
const load = benchmarks.get(name)
if (load) await (await load()).main(args)
else {
  process.stderr.write(`Which benchmark? One of: ${[...benchmarks.keys()].join(', ')}\n`)
  process.exitCode = 2
}
