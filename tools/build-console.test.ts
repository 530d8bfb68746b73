import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildConsoleIfStale } from './build-console.ts'

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

test('without a Vite configuration there is nothing to build', async () => {
  expect(await buildConsoleIfStale(root)).toBe('none')
})

// The browser tests run against what is built: a stale console would be tested instead of ours.
test('builds once, and again after any source changed or the output went', async () => {
  write('vite.config.ts', `export default { build: { outDir: 'dist/console' } }`)
  write('index.html', '<script type="module" src="/src/console/main.ts"></script>')
  write('src/console/main.ts', `document.title = 'first'`)
  expect(await buildConsoleIfStale(root)).toBe('built')
  expect(await buildConsoleIfStale(root)).toBe('fresh')

  write('src/console/main.ts', `document.title = 'other'`)
  expect(await buildConsoleIfStale(root)).toBe('built')

  write('src/contract/token.ts', 'export const a = 1')
  expect(await buildConsoleIfStale(root)).toBe('built')

  rmSync(join(root, 'dist'), { recursive: true })
  expect(await buildConsoleIfStale(root)).toBe('built')
  expect(readFileSync(join(root, 'dist/console/index.html'), 'utf8')).toContain('<script')
})

test('a console that does not build is an error', async () => {
  write('vite.config.ts', 'export default {}')
  write('index.html', '<script type="module" src="/src/console/gone.ts"></script>')
  await expect(buildConsoleIfStale(root)).rejects.toThrow('gone.ts')
})
