#!/usr/bin/env -S node --no-allocation-site-pretenuring --max-semi-space-size=8 --heap-growing-percent=30
// The options of the heap stand here and in package.json: what a call allocates dies with it, so a
// small nursery and slow growth cost little time and keep memory under 200 MiB under load.
//
// JavaScript, because what is here must run before any TypeScript does: the version check, so that
// an old Node says one clear line, and the code cache.
import process from 'node:process'
import { prepareCode, useCodeCache } from './code-cache/code-cache.js'

const NODE_MAJOR_MIN = 24

// The database driver crashes on older versions instead of complaining.
if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
  process.stderr.write(
    `Gatehouse needs Node ${NODE_MAJOR_MIN} or newer and runs on ${process.versions.node}. ` +
      'Start it with npm (npm start), which brings its own.\n',
  )
  process.exit(1)
}

if (['serve', 'demo', undefined].includes(process.argv[2])) prepareCode()
useCodeCache()
const { runCommandLine } = await import('./commands/command-line.ts')
await runCommandLine(process.argv, process.env)
