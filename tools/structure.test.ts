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

/** Imports and globals that are uses of cryptography. */
const CRYPTOGRAPHY =
  /from '(?:node:crypto|otpauth|openid-client|jose|@simplewebauthn\/\w+|@node-rs\/bcrypt)'|import\('@simplewebauthn|\bcrypto\.(?:getRandomValues|randomUUID|subtle)/

test('the page of security requirements lists every use of cryptography', () => {
  const page = readFileSync(join(cwd, 'docs/security.md'), 'utf8')
  const algorithms = page.split('\n## ').find((section) => section.startsWith('Algorithms')) ?? ''
  const uses = globSync('src/**/*.{ts,tsx}', { cwd })
    .filter((path) => !/\.test\.tsx?$|\/test\//.test(path))
    .filter((path) => CRYPTOGRAPHY.test(readFileSync(join(cwd, path), 'utf8')))
  const listed = [...algorithms.matchAll(/`(src\/[^`]+)`/g)].map(([, path = '']) => path)
  expect(listed.toSorted()).toEqual(uses.toSorted())
})

test('the page of security requirements counts its rows', () => {
  const page = readFileSync(join(cwd, 'docs/security.md'), 'utf8')
  const chapters = page.split('\n## ').filter((section) => /^V\d/.test(section))
  expect(chapters).toHaveLength(5)
  for (const chapter of chapters) {
    const standings = chapter.split('\n').map((line) => line.split(' | ')[3])
    const counts = ['held', 'held in part', 'not held', 'not applicable'].map(
      (standing) => `${standings.filter((one) => one === standing).length} ${standing}`,
    )
    expect(chapter).toContain(`\n${counts.join(', ')}.\n`)
  }
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
