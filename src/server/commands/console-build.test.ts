import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'

let root: string
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-console-'))
  onTestFinished(() => {
    fs.chmodSync(root, 0o755)
    fs.rmSync(root, { recursive: true })
  })
  fs.writeFileSync(path.join(root, 'index.html'), '<!doctype html>')
})

/** As a service does, which may not write to its own program. */
function buildAsNobody() {
  const file = path.join(import.meta.dirname, 'console-build.ts')
  const program = `
    const { buildConsoleIfNeeded } = await import(${JSON.stringify(file)})
    // Root may write everywhere.
    if (process.getuid() === 0) process.setuid(65_534)
    try { buildConsoleIfNeeded(${JSON.stringify(root)}); console.log('goes on') }
    catch (error) { console.log(error.constructor.name + ': ' + error.message) }`
  const args = ['--input-type=module', '--eval', program]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { stdout, stderr }
}

test('an older console that may not be built is served, with a line', () => {
  const output = path.join(root, 'dist/console')
  fs.mkdirSync(output, { recursive: true })
  const page = path.join(output, 'index.html')
  fs.writeFileSync(page, 'old')
  fs.utimesSync(page, 1000, 1000)
  fs.chmodSync(root, 0o555)
  fs.chmodSync(output, 0o555)
  onTestFinished(() => fs.chmodSync(output, 0o755))
  expect(buildAsNobody()).toEqual({
    stdout: 'goes on\n',
    stderr:
      'the console is older than its sources, and this user may not build it: npm run build\n',
  })
})

test('without any console the start ends with a line', () => {
  fs.chmodSync(root, 0o555)
  expect(buildAsNobody()).toEqual({
    stdout:
      'ConfigError: the console has not been built, and this user may not build it: npm run build\n',
    stderr: '',
  })
})
