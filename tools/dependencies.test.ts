import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }

const PAGE = 'docs/decisions/0011-dependencies.md'

test('every dependency has its line among the decisions, and every line its dependency', () => {
  const page = readFileSync(join(import.meta.dirname, '..', PAGE), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  const listed = rows.flatMap((line) => {
    const [, packages = ''] = line.split('|')
    return [...packages.matchAll(/`([^`]+)`/g)].map(([, name]) => name)
  })
  const { dependencies, optionalDependencies, devDependencies } = packageJson
  const needed = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies })
  expect(listed.toSorted()).toEqual(needed.toSorted())
})
