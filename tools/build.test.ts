import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildIfStale } from './build.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gatehouse-build-'))
  write('package.json', '{ "type": "module" }')
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text)
}

test('a project without either part has nothing to build', async () => {
  expect(await buildIfStale(root)).toEqual([])
})

// The browser tests use the built console: a stale one would hide changes.
test('builds once, and again after a source changed or the output is missing', async () => {
  write('vite.config.ts', `export default { build: { outDir: 'dist/console' } }`)
  write('index.html', '<script type="module" src="/src/console/main.ts"></script>')
  write('src/console/main.ts', `document.title = 'first'`)
  expect(await buildIfStale(root)).toEqual(['console'])
  expect(await buildIfStale(root)).toEqual([])

  write('src/console/main.ts', `document.title = 'other'`)
  expect(await buildIfStale(root)).toEqual(['console'])

  write('src/contract/token.ts', 'export const a = 1')
  expect(await buildIfStale(root)).toEqual(['console'])

  rmSync(join(root, 'dist'), { recursive: true })
  expect(await buildIfStale(root)).toEqual(['console'])
  expect(readFileSync(join(root, 'dist/console/index.html'), 'utf8')).toContain('<script')
})

test('a console that fails to build is an error', async () => {
  write('vite.config.ts', 'export default {}')
  write('index.html', '<script type="module" src="/src/console/gone.ts"></script>')
  await expect(buildIfStale(root)).rejects.toThrow('gone.ts')
})
