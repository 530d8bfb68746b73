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
import { slowPatterns } from './tidy/regular-expressions.ts'
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
  {
    rule: 'slow-pattern',
    path: 'src/server/relay/vendors/too-long.ts',
    reason: 'reads the first 400 characters of an upstream’s sentence, no more',
  },
  {
    rule: 'slow-pattern',
    path: 'src/contract/quota.ts',
    reason: 'reads digits of a number that was formatted here: some twenty',
  },
  {
    rule: 'slow-pattern',
    path: 'src/console/log/log-price.ts',
    reason: 'reads digits of a number that was formatted here: some twenty',
  },
  {
    rule: 'slow-pattern',
    path: 'src/console/redemption/redemption-form.ts',
    reason: 'reads a name of at most 20 characters, in the browser of who wrote it',
  },
  {
    rule: 'slow-pattern',
    path: 'tools/tidy/documents.ts',
    reason: 'reads our own documents',
  },
  {
    rule: 'slow-pattern',
    path: 'tools/sign-in-providers/sign-in-providers.ts',
    reason: 'a tool of tests, reads addresses that they make',
  },
  {
    rule: 'built-pattern',
    path: 'src/server/config.ts',
    reason: 'names of settings, anchored at both ends, each with one repetition',
  },
  {
    rule: 'built-pattern',
    path: 'src/server/log/body/body.ts',
    reason: 'every repetition has a limit or begins at the beginning of its run',
  },
  {
    rule: 'built-pattern',
    path: 'src/server/relay/count/tokenizer.ts',
    reason:
      'the published pattern of a vocabulary; long texts are cut before it and counted in a thread',
  },
  {
    rule: 'built-pattern',
    path: 'src/server/http/openapi/openapi-example.ts',
    reason: 'tries patterns of our own contract on examples of our own',
  },
  {
    rule: 'built-pattern',
    path: 'src/console/log/text/content-text.ts',
    reason: 'reads sentences that the server wrote into the log, in a browser, a page at a time',
  },
  {
    rule: 'built-pattern',
    path: 'tools/fake-upstream/call.ts',
    reason: 'reads forms that tests send',
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
  'regular expressions take linear time': () => slowPatterns(tree),
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
