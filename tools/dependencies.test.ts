import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import lock from '../package-lock.json' with { type: 'json' }
import packageJson from '../package.json' with { type: 'json' }
import nodePackage from './node/package.json' with { type: 'json' }

const PAGE = 'docs/decisions/0011-dependencies.md'

test('every dependency has a line in the decisions, and every line a dependency', () => {
  const page = readFileSync(join(import.meta.dirname, '..', PAGE), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  const listed = rows.flatMap((line) => {
    const [, packages = ''] = line.split('|')
    return [...packages.matchAll(/`([^`]+)`/g)].map(([, name]) => name)
  })
  const { dependencies, devDependencies } = packageJson
  const { optionalDependencies } = nodePackage
  const needed = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies })
  expect(listed.toSorted()).toEqual(needed.toSorted())
})

// `npm pack` must run our own script, so scripts cannot be disabled altogether.
test('no install script of a dependency runs', () => {
  const withScript = Object.entries(lock.packages)
    .filter(([, entry]) => 'hasInstallScript' in entry)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
  expect(withScript).not.toEqual([])
  const denied = Object.entries(packageJson.allowScripts).filter(([, isAllowed]) => !isAllowed)
  expect(denied.map(([name]) => name)).toEqual(expect.arrayContaining(withScript))
  expect(denied).toHaveLength(Object.keys(packageJson.allowScripts).length)
})
