#!/usr/bin/env node
// JavaScript without static imports: an older Node must reach the message below. It cannot read
// TypeScript, and the database driver crashes it.
const NODE_MAJOR_MIN = 24

if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
  process.stderr.write(
    `Gatehouse needs Node ${NODE_MAJOR_MIN} or newer and runs on ${process.versions.node}. ` +
      'Install a newer Node, or start a clone with npm (npm start), which brings its own.\n',
  )
  process.exit(1)
}

// V8 otherwise allocates objects of calls in the old generation under load, where they outlive the
// call: 260 to 340 MiB resident instead of 220 to 250, and longer collections
// (docs/benchmarks.md, "What a call costs").
const { setFlagsFromString } = await import('node:v8')
setFlagsFromString('--no-allocation-site-pretenuring')

const { runCommandLine } = await import('./commands/command-line.ts')
await runCommandLine(process.argv, process.env)
