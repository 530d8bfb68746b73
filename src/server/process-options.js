/**
 * What a call allocates dies with it: a small nursery and slow growth of the heap cost little time
 * and keep memory under 200 MiB under load. So does having the engine's built-in functions once,
 * and not a copy of 2 MiB for each thread beside its own code (docs/benchmarks.md).
 */
const HEAP_OPTIONS = [
  '--no-allocation-site-pretenuring',
  '--max-semi-space-size=8',
  '--heap-growing-percent=30',
  '--no-short-builtin-calls',
]

/**
 * glibc gives every thread a heap of its own by default, and keeps in each what was freed there: 15
 * MiB with the dozen threads of an engine, of which two are busy. Other allocators do not read it.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2' }

/**
 * Engine and allocator read their options when a process starts. So the process becomes one that
 * has them: in place, with the same id, streams and arguments, in 25 ms. Whoever starts it with
 * options of their own has those and no others: a profiler, say, does not survive this. Where a
 * process cannot be replaced (Windows), or would lose the channel to its parent, it goes on as it
 * is.
 *
 * @param {NodeJS.Process} process
 */
export function startAgainTuned({ argv, channel, env, execArgv, execPath, execve, platform }) {
  const canBecome = execve !== undefined && channel === undefined && platform !== 'win32'
  if (!canBecome || execArgv.length > 0) return
  execve(execPath, [execPath, ...HEAP_OPTIONS, ...argv.slice(1)], { ...ALLOCATOR, ...env })
}

/**
 * Those of our options that a process runs with: all or none.
 *
 * @param {readonly string[]} execArgv
 */
export const engineOptions = (execArgv) =>
  HEAP_OPTIONS.every((option) => execArgv.includes(option)) ? HEAP_OPTIONS : []
