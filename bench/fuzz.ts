import { parseArgs } from 'node:util'
import type { OpenTestDatabase } from '../src/server/test/for-each-database.ts'
import { fuzzServer } from '../tools/fuzz/fuzz-server.ts'
import { fuzzStreams } from '../tools/fuzz/fuzz-streams.ts'
import { databaseKinds, freshDatabases } from './fresh-databases.ts'

/** Calls at one server; its callers, codes and rows pile up until then. */
const ROUND = 50_000
const FINDINGS_SHOWN = 100

/**
 * npm run bench -- fuzz [--calls 1000000] [--streams 1000000] [--seed 1]
 * [--database sqlite,postgres]
 *
 * Streams of upstreams, odd and cut everywhere, through reader, dialects and outputs; then random
 * calls made from the API description, each answer held against it; so many on each
 * database.
 */
export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      calls: { type: 'string', default: '1000000' },
      streams: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: '1' },
      database: { type: 'string', default: 'sqlite' },
    },
  })
  const wanted = { calls: Number(values.calls), seed: Number(values.seed) }
  readStreams(Number(values.streams), wanted.seed)
  for (const kind of databaseKinds(values.database)) {
    const databases = await freshDatabases(kind)
    try {
      const found = await rounds(databases.open, wanted, (line) => print(`${kind}: ${line}`))
      if (found > 0) process.exitCode = 1
    } finally {
      await databases.remove()
    }
  }
}

function readStreams(cases: number, seed: number): void {
  if (cases === 0) return
  const { cases: done, outcomes, findings } = fuzzStreams({ cases, seed })
  for (const finding of findings.slice(0, FINDINGS_SHOWN)) print(JSON.stringify(finding))
  print(`${done} streams, ${JSON.stringify(outcomes)}, ${findings.length} findings`)
  if (findings.length > 0) process.exitCode = 1
}

/** Makes the calls, a fresh database every so often; answers how much was found wrong. */
async function rounds(
  open: OpenTestDatabase,
  { calls, seed }: { calls: number; seed: number },
  tell: (line: string) => void,
): Promise<number> {
  const statuses: Record<string, number> = {}
  let done = 0
  let found = 0
  for (let round = 0; done < calls; round += 1) {
    const result = await fuzzServer(open, {
      calls: Math.min(ROUND, calls - done),
      seed: seed + round * 1000,
    })
    done += result.calls
    found += result.findings.length + result.faults.length
    for (const [status, count] of Object.entries(result.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count
    }
    for (const finding of result.findings) tell(JSON.stringify(finding))
    for (const fault of result.faults) tell(fault)
    tell(`${done} calls, ${JSON.stringify(statuses)}, ${found} findings`)
    if (result.calls === 0) break
  }
  return found
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
