import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const program = join(import.meta.dirname, 'test.ts')
let project: string

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'gatehouse-test-run-'))
  symlinkSync(join(import.meta.dirname, '..', 'node_modules'), join(project, 'node_modules'))
})

afterEach(() => {
  rmSync(project, { recursive: true })
})

const IMPORTS = `import { afterAll, beforeAll, describe, expect, test } from 'vitest'\n`

/** Runs `tools/test.ts` in a small project made of `files`; tests need not import vitest. */
function run(files: Record<string, string>, ...filters: string[]) {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(project, name), name.endsWith('.test.ts') ? IMPORTS + text : text)
  }
  const { status, stdout } = spawnSync(process.execPath, [program, ...filters], {
    cwd: project,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  })
  return { status, lastLine: stdout.trimEnd().split('\n').at(-1) }
}

const passing = `test('one', () => expect(1).toBe(1)); test('two', () => expect(2).toBe(2))`

describe('the summary line', () => {
  test('counts tests, not files', () => {
    expect(run({ 'a.test.ts': passing, 'b.test.ts': passing })).toEqual({
      status: 0,
      lastLine: '4 passed, 0 failed',
    })
  })

  test('counts failures and skipped tests, and sets the exit code', () => {
    const mixed = `${passing}; test('three', () => expect(1).toBe(2)); test.skip('four', () => {})`
    expect(run({ 'a.test.ts': mixed })).toEqual({
      status: 1,
      lastLine: '2 passed, 1 failed, 1 skipped',
    })
  })

  test('counts a file that fails to load as a failure', () => {
    expect(run({ 'a.test.ts': passing, 'b.test.ts': `throw new Error('broken')` })).toEqual({
      status: 1,
      lastLine: '2 passed, 1 failed',
    })
  })

  test('counts an error outside all tests as a failure', () => {
    const loose = `${passing}; setTimeout(() => { throw new Error('late') }, 20)
      test('three', () => new Promise((resolve) => setTimeout(resolve, 100)))`
    expect(run({ 'a.test.ts': loose })).toEqual({ status: 1, lastLine: '3 passed, 1 failed' })
  })

  test('counts a console that fails to build as a failure, and runs the other tests', () => {
    // There is no index.html to build from.
    const files = { 'a.test.ts': passing, 'vite.config.ts': 'export default {}' }
    expect(run(files)).toEqual({ status: 1, lastLine: '2 passed, 1 failed' })
  })

  test('counts a hook that fails after the tests', () => {
    const hook = `${passing}; afterAll(() => { throw new Error('left open') })`
    expect(run({ 'a.test.ts': hook })).toEqual({ status: 1, lastLine: '2 passed, 1 failed' })
  })
})

// A wrong filter or an empty checkout must not look like success.
test('a run without tests fails', () => {
  expect(run({}).status).toBe(1)
  expect(run({ 'a.test.ts': passing }, 'no-such-file').status).toBe(1)
})

test('a run with only skipped tests fails', () => {
  expect(run({ 'a.test.ts': `test.skip('one', () => {})` })).toEqual({
    status: 1,
    lastLine: '0 passed, 0 failed, 1 skipped',
  })
})

test('filters select files by a part of their path', () => {
  const files = { 'a.test.ts': passing, 'b.test.ts': `test('no', () => expect(1).toBe(2))` }
  expect(run(files, 'a.test')).toEqual({ status: 0, lastLine: '2 passed, 0 failed' })
})
