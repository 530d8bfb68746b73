/** Structure of code and documents: lint, imports, unused code, error codes and paths in texts. */
import { exec } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { errors } from '../src/contract/errors.ts'
import { brokenPaths } from './lint/documents.ts'
import { STRUCTURE_STEPS } from './lint/steps.ts'

const cwd = join(import.meta.dirname, '..')
const STEP_TIMEOUT_MS = 240_000

test.concurrent.each(Object.entries(STRUCTURE_STEPS))(
  '%s',
  async (_name, command) => {
    const output = await promisify(exec)(command, { cwd }).then(
      () => '',
      (failure: { stdout: string; stderr: string }) => `${failure.stdout}${failure.stderr}`,
    )
    expect(output).toBe('')
  },
  STEP_TIMEOUT_MS,
)

test('every error code is used', () => {
  const paths = globSync('src/**/*.{ts,tsx}', { cwd }).filter(
    (path) => !/\.test\.tsx?$|\/test\/|^src\/contract\/[\w-]*errors\.ts$/.test(path),
  )
  const words = new Set(
    paths.flatMap((path) => readFileSync(join(cwd, path), 'utf8').match(/\w+/g) ?? []),
  )
  expect(Object.keys(errors).filter((code) => !words.has(code))).toEqual([])
})

test('documents name files that exist', () => {
  expect(brokenPaths(cwd)).toEqual([])
})

test('a path that does not exist is found in a document', () => {
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-documents-'))
  mkdirSync(join(root, 'docs'))
  mkdirSync(join(root, 'src'))
  writeFileSync(join(root, 'src', 'here.ts'), '')
  const text = [
    'See `src/here.ts`, `src/*.ts`, `src/<noun>.ts`, [map](map.md), [part](#part), [out](https://a.b).',
    'See `src/gone.ts` and `src/*.tsx`,',
    'and [other](other.md#part).',
  ].join('\n')
  writeFileSync(join(root, 'docs', 'map.md'), text)
  const found = brokenPaths(root)
  rmSync(root, { recursive: true })
  expect(found).toEqual([
    'docs/map.md:2 names src/gone.ts',
    'docs/map.md:2 names src/*.tsx',
    'docs/map.md:3 names docs/other.md',
  ])
})
