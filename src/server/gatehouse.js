#!/usr/bin/env node
// JavaScript, because what is here must run before any TypeScript does: the version check, so that
// an old Node says one clear line, the engine's options, and the code cache.
import process from 'node:process'
import { prepareCode, useCodeCache } from './code-cache/code-cache.js'
import { engineOptions, startAgainTuned } from './process-options.js'

const NODE_MAJOR_MIN = 24

// The database driver crashes on older versions instead of complaining.
if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
  process.stderr.write(
    `Gatehouse needs Node ${NODE_MAJOR_MIN} or newer and runs on ${process.versions.node}. ` +
      'Start it with npm (npm start), which brings its own.\n',
  )
  process.exit(1)
}

startAgainTuned(process)
if (['serve', 'demo', undefined].includes(process.argv[2]))
  prepareCode(engineOptions(process.execArgv))
useCodeCache()
const { runCommandLine } = await import('./commands/command-line.ts')
await runCommandLine(process.argv, process.env)
