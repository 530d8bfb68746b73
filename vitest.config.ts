import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tools/longest-first.ts'

/**
 * Two projects, one after the other: `node` (server, contract, console rules, tools), then
 * `browser` (e2e). More files at a time than cores, because each waits for a database, a process or
 * a page for a third of its time and more: that keeps two cores busy.
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
          maxWorkers: 4,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'browser',
          include: ['e2e/**/*.e2e.ts'],
          maxWorkers: 3,
          testTimeout: 120_000,
          // A page on a busy machine takes longer than the second that is waited otherwise.
          expect: { poll: { timeout: 15_000 } },
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
