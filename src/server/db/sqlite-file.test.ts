import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileTrouble } from './sqlite-file.ts'

// A server with such a file would start and then reject every call.
test('a read-only file is rejected', () => {
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

// The only file system without space that every Linux has; root may write in it.
test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'a full disk is described, where SQLite itself reports an I/O error',
  () => {
    expect(fileTrouble('/proc/gatehouse.db', { readonly: true })).toBe(
      'no space is left on the disk of /proc',
    )
  },
)

test('permission problems are described', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-file-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true }))
  for (const [name, rights] of [
    ['open', 0o777],
    ['shut', 0o700],
    ['fixed', 0o555],
  ] as const) {
    fs.mkdirSync(path.join(folder, name))
    fs.writeFileSync(path.join(folder, name, 'shown.db'), '', { mode: 0o444 })
    fs.writeFileSync(path.join(folder, name, 'hidden.db'), '')
    fs.chmodSync(path.join(folder, name, 'hidden.db'), 0o000)
    fs.chmodSync(path.join(folder, name), rights)
  }
  const isRoot = process.getuid?.() === 0
  if (isRoot) fs.chmodSync(folder, 0o755)
  else fs.chmodSync(path.join(folder, 'shut'), 0o000)
  const program = `
    const { fileTrouble } = await import(${JSON.stringify(path.join(import.meta.dirname, 'sqlite-file.ts'))})
    // Root may do everything.
    if (process.getuid() === 0) process.setuid(65_534)
    const folder = ${JSON.stringify(folder)}
    const said = ['open', 'shut', 'fixed'].flatMap((place) => ['shown.db', 'hidden.db', 'none.db']
      .flatMap((name) => [true, false].map((readonly) =>
        [place, name, readonly, fileTrouble(folder + '/' + place + '/' + name, { readonly })])))
    const owners = ' (it belongs to user ${process.getuid?.()}, this is user ' + process.getuid() + ')'
    console.log(JSON.stringify(said).replaceAll(folder, '…').replaceAll(owners, ' (whose)'))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  if (!isRoot) fs.chmodSync(path.join(folder, 'shut'), 0o700)
  const unread = 'this user may not read it (whose)'
  const unwritten = 'this user may not write it (whose)'
  const closed = 'this user may not enter the folder …/shut'
  const fixed =
    'this user may not write in the folder …/fixed, where SQLite keeps additional files (whose)'
  expect(JSON.parse(stdout)).toEqual([
    ['open', 'shown.db', true, null],
    ['open', 'shown.db', false, unwritten],
    ['open', 'hidden.db', true, unread],
    ['open', 'hidden.db', false, unread],
    ['open', 'none.db', true, null],
    ['open', 'none.db', false, null],
    ...['shown.db', 'hidden.db', 'none.db'].flatMap((name) => [
      ['shut', name, true, closed],
      ['shut', name, false, closed],
    ]),
    ['fixed', 'shown.db', true, fixed],
    ['fixed', 'shown.db', false, unwritten],
    ['fixed', 'hidden.db', true, unread],
    ['fixed', 'hidden.db', false, unread],
    ['fixed', 'none.db', true, fixed],
    ['fixed', 'none.db', false, fixed],
  ])
})
