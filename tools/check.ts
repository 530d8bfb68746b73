/**
 * `npm run check`: format, lint, types and structure, in parallel and without a database. Prints
 * errors and a summary line. `npm run format` fixes the format.
 */
import { spawn } from 'node:child_process'

const STEPS: Record<string, string> = {
  format: 'oxfmt --check .',
  lint: 'oxlint --deny-warnings .',
  'types of contract': 'tsc --noEmit -p src/contract',
  'types of server': 'tsc --noEmit -p src/server',
  'types of console': 'tsc --noEmit -p src/console',
  'types of e2e': 'tsc --noEmit -p e2e',
  'size warnings': 'node tools/size-warnings.ts',
  structure: 'vitest run --reporter=dot tools/tidy.test.ts',
}

interface Outcome {
  name: string
  succeeded: boolean
  output: string
}

function run(name: string, command: string): Promise<Outcome> {
  const [program = '', ...programArguments] = command.split(' ')
  return new Promise((resolve) => {
    // npm puts node_modules/.bin first on the PATH; on Windows its entries are shell scripts.
    const child = spawn(program, programArguments, {
      shell: process.platform === 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    }
    child.once('error', (error) => resolve({ name, succeeded: false, output: String(error) }))
    child.once('close', (code) => resolve({ name, succeeded: code === 0, output }))
  })
}

const started = performance.now()
const outcomes = await Promise.all(
  Object.entries(STEPS).map(([name, command]) => run(name, command)),
)
const failures = outcomes.filter((outcome) => !outcome.succeeded)
for (const { name, output } of failures) console.error(`— ${name}\n${output.trim()}\n`)

for (const { output } of outcomes.filter((outcome) => outcome.succeeded)) {
  for (const warning of output.match(/^warning: .*$/gm) ?? []) console.warn(warning)
}

const seconds = ((performance.now() - started) / 1_000).toFixed(1)
if (failures.length === 0) {
  console.log(`check: all ${outcomes.length} steps passed in ${seconds} s`)
} else {
  const names = failures.map((failure) => failure.name).join(', ')
  console.log(`check: ${names} failed (${outcomes.length - failures.length} passed, ${seconds} s)`)
}
process.exit(failures.length === 0 ? 0 : 1)
