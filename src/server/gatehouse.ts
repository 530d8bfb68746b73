#!/usr/bin/env node
import module from 'node:module'
import path from 'node:path'

const NODE_MAJOR_MIN = 24

// Before anything else is loaded: the database driver crashes on older versions instead of complaining.
if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
  process.stderr.write(
    `Gatehouse needs Node ${NODE_MAJOR_MIN} or newer and runs on ${process.versions.node}. ` +
      'Start it with npm (npm start), which brings its own.\n',
  )
  process.exit(1)
}

// Compiled and type-stripped code is kept between starts. Stripping loads a compiler of tens of megabytes into
// every thread; from the second start on none of them needs it.
module.enableCompileCache(path.join(import.meta.dirname, '../../node_modules/.cache/gatehouse/code'))

const { runCommandLine } = await import('./commands/command-line.ts')
await runCommandLine(process.argv, process.env)
