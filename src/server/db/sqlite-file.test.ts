import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

// A server on it would look well and refuse every call.
test('a file that may not be written is refused', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-file-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'gatehouse.db')
  fs.writeFileSync(file, '', { mode: 0o444 })
  fs.chmodSync(folder, 0o777)
  const program = `
    const { makeSqliteFile } = await import(${JSON.stringify(path.join(import.meta.dirname, 'sqlite-file.ts'))})
    // Root may write everywhere.
    if (process.getuid() === 0) process.setuid(65_534)
    makeSqliteFile(${JSON.stringify(path.join(folder, 'another.db'))})
    try { makeSqliteFile(${JSON.stringify(file)}) } catch (error) { console.log(error.code) }`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('EACCES\n')
})
