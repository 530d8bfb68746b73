/**
 * Our habits as a test: what lint and compiler do not see. A failure names the file, the rule and
 * what to do. Where a rule is wrong for one file, that file goes on the list below with the
 * reason.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { wrongArrows } from './tidy/arrows.ts'
import { cycles } from './tidy/cycles.ts'
import { brokenPaths } from './tidy/documents.ts'
import { bareTables } from './tidy/bare-tables.ts'
import { badHabits } from './tidy/habits.ts'
import { deadCode } from './tidy/liveness.ts'
import { misnomers } from './tidy/names.ts'
import { impurities } from './tidy/purity.ts'
import { wideComments } from './tidy/sizes.ts'
import { readTree } from './tidy/tree.ts'
import type { Violation } from './tidy/tree.ts'

interface Exception {
  rule: string
  path: string
  reason: string
}

const EXCEPTIONS: Exception[] = [
  {
    rule: 'file-name',
    path: 'src/contract/channel-types.ts',
    reason: 'a channel type is a thing of the trade here, not a type of the language',
  },
  {
    rule: 'purity',
    path: 'src/server/egress/egress.ts',
    reason: 'the one way out of the process; everything else asks it',
  },
  {
    rule: 'import',
    path: 'src/server/commands/demo.ts',
    reason: 'the demo is its own upstream, so that it answers without a key and without a network',
  },
]

const root = join(import.meta.dirname, '..')
const tree = readTree(root)

function unexcused(violations: Violation[]): string[] {
  return violations
    .filter(
      ({ rule, path }) => !EXCEPTIONS.some((item) => item.rule === rule && item.path === path),
    )
    .map(({ rule, path, line, message }) => `${path}${line ? `:${line}` : ''} ${rule}: ${message}`)
}

const CHECKS = {
  'comments end at column 100': () => wideComments(tree),
  'files and exports are named after what they are': () => misnomers(tree),
  'imports point one way, and SQL is in the stores': () => wrongArrows(tree),
  'imports do not go round in circles': () => cycles(tree),
  'clock, chance and environment are passed in': () => impurities(tree),
  'every file, export and error code is used': () => deadCode(tree),
  'comments, casts and comparisons say what they mean': () => badHabits(tree),
  'tables name what they are looked up by': () => bareTables(tree),
  'documents name files that exist': () => brokenPaths(root),
} satisfies Record<string, () => Violation[]>

test.each(Object.entries(CHECKS))('%s', (_name, check) => {
  expect(unexcused(check())).toEqual([])
})

test('every exception is still needed', () => {
  const violations = Object.values(CHECKS).flatMap((check) => check())
  const needless = EXCEPTIONS.filter(
    ({ rule, path }) => !violations.some((found) => found.rule === rule && found.path === path),
  )
  expect(needless).toEqual([])
})
