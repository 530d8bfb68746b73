import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { fuzzServer } from '../tools/fuzz/fuzz-server.ts'

/** Calls at one server; its callers, codes and rows pile up until then. */
const ROUND = 50_000

/**
 * npm run bench -- fuzz [--calls 1000000] [--seed 1]
 *
 * Random calls made from the API description, each answer held against it.
 */
export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      calls: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: '1' },
    },
  })
  const calls = Number(values.calls)
  const statuses: Record<string, number> = {}
  let done = 0
  let found = 0
  for (let round = 0; done < calls; round += 1) {
    const seed = Number(values.seed) + round * 1000
    const result = await fuzzRound(Math.min(ROUND, calls - done), seed)
    done += result.calls
    found += result.findings.length + result.faults.length
    for (const [status, count] of Object.entries(result.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count
    }
    for (const finding of result.findings) print(JSON.stringify(finding))
    for (const fault of result.faults) print(fault)
    print(`${done} calls, seed ${seed}, ${JSON.stringify(statuses)}, ${found} findings`)
    if (result.calls === 0) break
  }
  if (found > 0) process.exitCode = 1
}

async function fuzzRound(calls: number, seed: number) {
  const directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-fuzz-'))
  const location = { engine: 'sqlite' as const, path: path.join(directory, 'gatehouse.db') }
  try {
    return await fuzzServer(() => Promise.resolve(location), { calls, seed })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
