/**
 * `npm test`: builds console and server if their sources changed, runs all test files or those
 * whose path contains one of the given words, and ends with the line `N passed, N failed`. Accepts
 * vitest's options.
 */
import { parseCLI, startVitest } from 'vitest/node'
import type { Vitest } from 'vitest/node'
import { buildIfStale } from './build.ts'

interface Totals {
  passed: number
  failed: number
  skipped: number
}

/** A file that fails to load and an error outside all tests each count as one failed test. */
function totals({ state }: Vitest): Totals {
  const count = { passed: 0, failed: state.getUnhandledErrors().length, skipped: 0 }
  for (const module of state.getTestModules()) {
    count.failed += module.errors().length
    for (const test of module.children.allTests()) {
      const outcome = test.result().state
      // A test that is still pending at the end of the run was not decided, which is a failure.
      count[outcome === 'pending' ? 'failed' : outcome] += 1
    }
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length
  }
  return count
}

function closingLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

const isBuildBroken = await buildIfStale(process.cwd()).then(
  () => false,
  (error: unknown) => {
    console.error('The build fails; programs and pages are tested as last built.', error)
    return true
  },
)

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const vitest = await startVitest(filter, { reporters: ['default'], ...options, watch: false })
const result = totals(vitest)
if (isBuildBroken) result.failed += 1
await vitest.close()

console.log(closingLine(result))
// A run without tests, and one that vitest itself reports as failed, are failures too.
process.exit(result.failed > 0 || result.passed === 0 || process.exitCode ? 1 : 0)
