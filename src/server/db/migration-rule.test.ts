import { expect, test } from 'vitest'
import { isContract, migrations, type Engine } from './migrate.ts'

/**
 * Migrations only add, so that processes of the previous version can run beside the new ones, and a
 * downgrade needs no backup. A script that does more begins with `-- contract:` and the version
 * that stopped using what it removes.
 */

/** The last script before this rule applied. */
const BEFORE_RULE = 25

const FORBIDDEN: readonly [pattern: RegExp, why: string][] = [
  [/\bdrop\s+\w+/i, 'earlier versions may use what it drops'],
  [/\brename\b/i, 'earlier versions know the old name'],
  [/\balter\s+column\b/i, 'earlier versions write what the column was'],
  [/\bcreate\s+or\s+replace\b/i, 'earlier versions call it: give the new one a name of its own'],
  [/\btruncate\b/i, 'earlier versions may use the rows'],
  [/\badd\s+constraint\b/i, 'rows of earlier versions may break it'],
  [
    /\badd\s+column\b(?=[^;]*\bnot\s+null\b)(?![^;]*\bdefault\b)/i,
    'earlier versions do not fill it',
  ],
]

const withoutComments = (script: string): string => script.replaceAll(/--.*$/gm, '')

/** Unique indexes on tables that the script has not created itself. */
function newUniqueness(script: string): string[] {
  const made = new Set([...script.matchAll(/\bcreate\s+table\s+(\w+)/gi)].map(([, name]) => name))
  return [...script.matchAll(/\bcreate\s+unique\s+index\s+\w+\s+on\s+(\w+)/gi)]
    .filter(([, table]) => !made.has(table))
    .map(([, table]) => `rows of earlier versions may break the unique index on ${table}`)
}

/** Returns why earlier versions cannot run with a script; empty if they can. */
function troublesOf(script: string): string[] {
  const text = withoutComments(script)
  const troubles = FORBIDDEN.filter(([pattern]) => pattern.test(text)).map(([, why]) => why)
  return [...troubles, ...newUniqueness(text)]
}

test.each<Engine>(['sqlite', 'postgres'])('migrations of %s only add', (engine) => {
  const troubles = migrations(engine)
    .filter(({ version, script }) => version > BEFORE_RULE && !isContract(script))
    .flatMap(({ version, script }) => troublesOf(script).map((why) => `${version}: ${why}`))
  expect(troubles).toEqual([])
})

test.each([
  'DROP TABLE users;',
  'ALTER TABLE users RENAME COLUMN a TO b;',
  'ALTER TABLE users ADD COLUMN a integer NOT NULL;',
  'ALTER TABLE users ALTER COLUMN a SET NOT NULL;',
  'CREATE OR REPLACE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;',
  'CREATE UNIQUE INDEX u ON users (email);',
])('rejected: %s', (script) => {
  expect(troublesOf(script)).toHaveLength(1)
})

test.each([
  '-- Nothing to drop.\nALTER TABLE users ADD COLUMN a integer NOT NULL DEFAULT 0;',
  'ALTER TABLE users ADD COLUMN a integer; UPDATE users SET a = 1;',
  'CREATE TABLE t (a integer NOT NULL); CREATE UNIQUE INDEX u ON t (a);',
])('allowed: %s', (script) => {
  expect(troublesOf(script)).toEqual([])
})
