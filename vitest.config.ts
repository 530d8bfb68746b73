import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tools/longest-first.ts'

const SERVER = ['src/contract/**/*.test.ts', 'src/server/**/*.test.ts']

/** These end tests that hang. They are long enough for a machine that is busy with other work. */
const TIMEOUTS = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
}

/** More workers than cores, because each waits for a database, a process or a page. */
const WITHOUT_BROWSER = { maxWorkers: 4, ...TIMEOUTS, sequence: { groupOrder: 0 } }

/**
 * First `node` (tools, benchmarks, the console's rules) and `server` (with the contract) together,
 * then `browser` (e2e).
 */
export default defineConfig({
  test: {
    allowOnly: false,
    globalSetup: ['tools/test-setup.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'node',
          include: [
            'src/**/*.test.ts',
            'src/**/*.test.tsx',
            'tools/**/*.test.ts',
            'bench/**/*.test.ts',
          ],
          exclude: SERVER,
          ...WITHOUT_BROWSER,
        },
      },
      {
        test: {
          name: 'server',
          include: SERVER,
          // Loading the server takes longer than most of its test files. It has no mutable module
          // state, so test files in one process load it once.
          isolate: false,
          // Replacements of one file must not affect the next one.
          restoreMocks: true,
          unstubGlobals: true,
          unstubEnvs: true,
          ...WITHOUT_BROWSER,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['e2e/**/*.e2e.ts'],
          maxWorkers: 3,
          ...TIMEOUTS,
          // Long enough for several waits of a minute, so that the one that ended names the reason.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
