/**
 * npm run bench -- <name> [options]
 *
 * relay     requests per second, latency and memory beside other gateways
 * crash     kill -9 under load; the books must be right every time
 * streams   many concurrent event streams
 * fuzz      random calls made from the API description
 */
const benchmarks = new Map([
  ['relay', () => import('./relay.ts')],
  ['crash', () => import('./crash.ts')],
  ['streams', () => import('./streams.ts')],
  ['fuzz', () => import('./fuzz.ts')],
])

const [name = '', ...args] = process.argv.slice(2)
const load = benchmarks.get(name)
if (load) await (await load()).main(args)
else {
  process.stderr.write(`Which benchmark? One of: ${[...benchmarks.keys()].join(', ')}\n`)
  process.exitCode = 2
}
