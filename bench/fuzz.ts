import { parseArgs } from 'node:util'
import type { OpenTestDatabase } from '../src/server/test/for-each-database.ts'
import { fuzzServer } from '../tools/fuzz/fuzz-server.ts'
import { fuzzStreams } from '../tools/fuzz/fuzz-streams.ts'
import { databaseKinds, freshDatabases } from './fresh-databases.ts'

/** Calls per server: until it is replaced, callers, codes and rows accumulate. */
const ROUND = 50_000
const FINDINGS_SHOWN = 100

/**
 * npm run bench -- fuzz [--calls 1000000] [--streams 1000000] [--seed 1]
 * [--database sqlite,postgres]
 *
 * First runs malformed upstream streams, cut at every byte, through reader, dialects and outputs.
 * Then makes random calls generated from the API description on each database, and validates each
 * response against it.
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

/** Makes the calls, with a fresh database per round; returns the number of findings. */
async function rounds(
  open: OpenTestDatabase,
  { calls, seed }: { calls: number; seed: number },
  report: (line: string) => void,
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
    for (const finding of result.findings) report(JSON.stringify(finding))
    for (const fault of result.faults) report(fault)
    report(`${done} calls, ${JSON.stringify(statuses)}, ${found} findings`)
    if (result.calls === 0) break
  }
  return found
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
