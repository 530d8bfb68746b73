import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** The tests of the log store that need ClickHouse's engine; `npm run bench -- clickhouse`. */
export default defineConfig({
  test: {
    root: path.resolve(import.meta.dirname, '../..'),
    include: ['bench/clickhouse/*.check.ts'],
    globalSetup: ['tools/test-setup.ts', 'bench/clickhouse/start-engine.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
