import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { wrongArrows } from './arrows.ts'
import { cycles } from './cycles.ts'
import { brokenPaths } from './documents.ts'
import { bareTables } from './bare-tables.ts'
import { badHabits } from './habits.ts'
import { deadCode } from './liveness.ts'
import { misnomers } from './names.ts'
import { impurities } from './purity.ts'
import { slowPatterns } from './regular-expressions.ts'
import { oversizes, wideComments } from './sizes.ts'
import { treeOf } from './tree.ts'
import type { Tree, Violation } from './tree.ts'

type Check = (tree: Tree) => Violation[]

/** The violations of `texts` by path, as `path rule`. */
function found(check: Check, texts: Record<string, string>): string[] {
  return check(treeOf(texts)).map(({ path, rule }) => `${path} ${rule}`)
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => `call(${index})\n`).join('')
}

describe('sizes', () => {
  test.each([
    ['src/server/token/token.ts', 400],
    ['src/console/token/token-list-page.tsx', 350],
    ['src/server/token/token.test.ts', 600],
  ])('%s may have %i lines', (path, limit) => {
    expect(found(oversizes, { [path]: lines(limit) })).toEqual([])
    expect(found(oversizes, { [path]: lines(limit + 1) })).toEqual([`${path} file-size`])
  })

  test('a function may have 70 lines, a component 120', () => {
    const path = 'src/console/ui/table.tsx'
    const small = `function table() {\n${lines(68)}}`
    const component = `const Table = () => {\n${lines(118)}}`
    expect(found(oversizes, { [path]: `${small}\n${component}` })).toEqual([])
    expect(found(oversizes, { [path]: small.replace('{', '{\n') })).toHaveLength(1)
    expect(found(oversizes, { [path]: component.replace('{', '{\n') })).toHaveLength(1)
  })

  test('named functions inside another are counted by themselves', () => {
    const inner = `function inner() {\n${lines(60)}}`
    const path = 'src/server/app.ts'
    expect(found(oversizes, { [path]: `function outer() {\n${inner}\n${lines(60)}}` })).toEqual([])
    expect(
      found(oversizes, { [path]: `function outer() {\ncall(() => {\n${lines(70)}})\n}` }),
    ).toEqual([`${path} function-size`, `${path} function-size`])
  })

  test('a folder may have 25 files beside its tests', () => {
    const files = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`src/server/log/a${index}.ts`, '']),
      )
    expect(found(oversizes, { ...files(25), 'src/server/log/b.test.ts': '' })).toEqual([])
    expect(found(oversizes, files(26))).toEqual(['src/server/log folder-size'])
  })

  test('a comment ends at column 100, unless it holds an address', () => {
    const path = 'src/server/app.ts'
    expect(found(wideComments, { [path]: `// ${'a'.repeat(97)}` })).toEqual([])
    expect(found(wideComments, { [path]: `// ${'a'.repeat(98)}` })).toEqual([`${path} width`])
    expect(found(wideComments, { [path]: `// see https://example.com/${'a'.repeat(98)}` })).toEqual(
      [],
    )
  })
})

describe('names', () => {
  test.each([
    'tokenStore',
    'token-service',
    'utils',
    'token-helpers',
    'index',
    'log-types',
    'coupon',
  ])('no file is called %s', (name) => {
    const path = `src/server/token/${name}.ts`
    expect(found(misnomers, { [path]: '' })).toEqual([`${path} file-name`])
  })

  test.each(['token-store.ts', 'token.test.ts', 'token-list-page.tsx', 'vite.config.ts'])(
    '%s is a good name',
    (name) => expect(found(misnomers, { [`src/console/token/${name}`]: '' })).toEqual([]),
  )

  test.each(['TokenManager', 'tokenUtils', 'findVoucher', 'recharge_log'])(
    'nothing exported is called %s',
    (name) => {
      const path = 'src/server/token/token.ts'
      expect(found(misnomers, { [path]: `export const ${name} = 1` })).toEqual([
        `${path} export-name`,
      ])
    },
  )
})

describe('arrows', () => {
  test.each([
    ['src/contract/token.ts', `import { x } from '../server/app.ts'`],
    ['src/contract/token.ts', `import { readFile } from 'node:fs'`],
    ['src/contract/token.ts', `import type { Kysely } from 'kysely'`],
    ['src/contract/token.test.ts', `import { x } from '../console/app/call.ts'`],
    ['src/server/app.ts', `import type { Page } from '../console/ui/page.tsx'`],
    ['src/server/app.ts', `import { aToken } from './test/factories.ts'`],
    ['src/server/app.ts', `import { fake } from '../../tools/fake.ts'`],
    ['src/server/channel/channel-test.ts', `import { probe } from '../relay/probe.ts'`],
    ['src/server/user/administration.ts', `import { x } from '../limit/limit-routes.ts'`],
    ['src/server/relay/relay.ts', `import type { R } from './trace/route-routes.ts'`],
    ['src/server/relay/dialect/provider.ts', `import { x } from '../providers/providers.ts'`],
    ['src/server/relay/transport/wire.ts', `import type { D } from '../dialect/dialect.ts'`],
    ['src/server/db/database.ts', `import { adopt } from '../adopt/adopt-database.ts'`],
    ['src/server/db/database.ts', `import type { Ledger } from '../ledger/ledger.ts'`],
    ['src/console/token/token-form.ts', `import { app } from '../../server/app.ts'`],
    ['src/console/token/token-form.ts', `import { x } from '../channel/channel-form.ts'`],
    ['src/console/token/token-form.ts', `import { routes } from '../routes.tsx'`],
    ['src/console/app/layout.tsx', `const page = import('../token/token-list-page.tsx')`],
    ['src/console/ui/table.tsx', `import { call } from '../app/call.ts'`],
    ['src/console/ui/table.tsx', `import { paths } from '../paths.ts'`],
  ])('%s does not say %s', (path, text) => {
    expect(found(wrongArrows, { [path]: text })).toEqual([`${path} import`])
  })

  test.each([
    ['src/contract/token.ts', `import { z } from 'zod'; import { page } from './paging.ts'`],
    ['src/contract/token.test.ts', `import { test } from 'vitest'; import { t } from './token.ts'`],
    ['src/server/token/token.test.ts', `import { fake } from '../../../tools/fake.ts'`],
    ['src/server/app.ts', `import { token } from '../contract/token.ts'`],
    ['src/server/server.ts', `import { createRelay } from './relay/relay.ts'`],
    ['src/server/channel/balance.ts', `import { v } from '../relay/vendors/registry.ts'`],
    ['src/server/relay/dialect/provider.ts', `import type { Via } from '../transport/call.ts'`],
    ['src/server/server.ts', `import { logRoutes } from './log/log-routes.ts'`],
    ['src/server/log/log-routes.ts', `import { exportRoutes } from './export/export-routes.ts'`],
    ['src/server/log/log-routes.test.ts', `import { logRoutes } from './log-routes.ts'`],
    ['src/server/db/sqlite-worker.ts', `import { x } from '../ledger/batch/sqlite-batch.ts'`],
    ['src/server/db/migrate.test.ts', `import { openDatabase } from '../commands/open.ts'`],
    ['src/console/token/page.tsx', `import { call } from '../app/call.ts'; import '../paths.ts'`],
    ['src/console/token/page.tsx', `import { Table } from '../ui/table.tsx'; import './b.ts'`],
    ['src/console/routes.tsx', `import { Page } from './token/page.tsx'`],
  ])('%s may say %s', (path, text) => {
    expect(found(wrongArrows, { [path]: text })).toEqual([])
  })

  test('SQL and its packages stay in stores, database and ledger storage', () => {
    const text = `import { sql } from 'kysely'; const a = 'SELECT id FROM tokens'`
    for (const path of ['token/token-store', 'db/ids', 'ledger/batch/sqlite-batch']) {
      expect(found(wrongArrows, { [`src/server/${path}.ts`]: text })).toEqual([])
    }
    for (const path of ['token/token', 'ledger/price', 'app']) {
      const full = `src/server/${path}.ts`
      expect(found(wrongArrows, { [full]: text })).toEqual([`${full} sql`, `${full} sql`])
    }
  })

  test.each([
    `await database.read.selectFrom('ledger').selectAll().execute()`,
    `db.transaction().execute((trx) => trx.deleteFrom('tokens').execute())`,
    `const { updateTable } = db; updateTable('users')`,
  ])('the query builder is SQL without an import: %s', (text) => {
    const relay = 'src/server/relay/relay-call.ts'
    expect(found(wrongArrows, { [relay]: text })).toEqual([`${relay} sql`])
    expect(found(wrongArrows, { 'src/server/ledger/ledger.ts': text })).toHaveLength(1)
    for (const path of ['src/server/token/token-store.ts', 'src/server/app.test.ts']) {
      expect(found(wrongArrows, { [path]: text })).toEqual([])
    }
  })

  test('a comment or a type may speak of SQL', () => {
    const text = `// like SELECT id FROM tokens\nimport type { Kysely } from 'kysely'\n/** UPDATE t SET */`
    expect(found(wrongArrows, { 'src/server/app.ts': text })).toEqual([])
  })

  test('only the contract has a barrel', () => {
    const text = `export { a } from './a.ts'`
    expect(found(wrongArrows, { 'src/contract/api.ts': text })).toEqual([])
    expect(found(wrongArrows, { 'src/server/all.ts': text })).toEqual(['src/server/all.ts barrel'])
    expect(
      found(wrongArrows, { 'src/server/b.ts': `export * from './a.ts'; const b = 1` }),
    ).toEqual(['src/server/b.ts barrel'])
  })
})

test('circles of imports are found, circles of types are not', () => {
  const circle = {
    'src/server/a.ts': `import './b.ts'`,
    'src/server/b.ts': `import { c } from './c.ts'`,
    'src/server/c.ts': `export { a } from './a.ts'`,
  }
  expect(found(cycles, circle)).toEqual(['src/server/a.ts cycle'])
  const byType = { ...circle, 'src/server/c.ts': `import type { A } from './a.ts'` }
  expect(found(cycles, byType)).toEqual([])
})

describe('purity', () => {
  test.each([
    'const now = Date.now()',
    'const now = new Date()',
    'const chance = Math.random()',
    'const port = process.env.PORT',
    'const answer = globalThis.fetch(url)',
  ])('no %s in the server', (text) => {
    const path = 'src/server/token/token-routes.ts'
    expect(found(impurities, { [path]: text })).toEqual([`${path} purity`])
  })

  test('each has one place', () => {
    expect(
      found(impurities, {
        'src/server/clock.ts': 'const now = Date.now()',
        'src/server/config.ts': 'const port = process.env.PORT',
        'src/server/token/token.ts': 'const day = new Date(0)',
        'src/server/token/token.test.ts': 'const now = Date.now()',
      }),
    ).toEqual([])
  })

  test.each([`'./token-store.ts'`, `'../db/database.ts'`, `'undici'`, `'node:fs/promises'`])(
    'rules do not import %s',
    (specifier) => {
      const path = 'src/server/token/token.ts'
      expect(found(impurities, { [path]: `import { x } from ${specifier}` })).toEqual([
        `${path} purity`,
      ])
      expect(found(impurities, { [path]: `import type { X } from ${specifier}` })).toEqual([])
    },
  )
})

describe('dead code', () => {
  const program = {
    'src/server/gatehouse.js': `import { a } from './a.ts'; new Worker(new URL('./w.ts', base))`,
    'src/console/main.tsx': '',
    'src/server/a.ts': 'export const a = 1',
    'src/server/w.ts': '',
  }

  test('a program is alive, its workers too', () => {
    expect(found(deadCode, program)).toEqual([])
  })

  test('a file that nothing reaches is dead, also when a test knows it', () => {
    const files = {
      ...program,
      'src/server/b.ts': '',
      'src/server/c.ts': '',
      'src/server/c.test.ts': `import './c.ts'`,
      'src/server/test/used.ts': '',
      'src/server/test/unused.ts': '',
      'src/server/d.test.ts': `import './test/used.ts'`,
    }
    expect(found(deadCode, files)).toEqual([
      'src/server/b.ts dead-file',
      'src/server/c.ts dead-file',
      'src/server/test/unused.ts dead-file',
    ])
  })

  test('a renamed entry point is reported', () => {
    expect(found(deadCode, { 'src/server/gatehouse.js': '' })).toEqual([
      'src/console/main.tsx dead-file',
    ])
  })

  test('an export that nobody takes is unused', () => {
    const files = {
      ...program,
      'src/server/a.ts': `
        export const a = 1, unused = 2, tested = 3, testedAndUsed = 4
        const inner = testedAndUsed
        export type Unused = 1
        export interface Options { a: 1 }
        function f(options: Options) { return options }`,
      'src/server/a.test.ts': `import { tested, testedAndUsed } from './a.ts'`,
    }
    const messages = deadCode(treeOf(files)).map(({ message }) => message.split(';')[0])
    expect(messages).toEqual([
      'nobody imports unused',
      'nobody imports tested',
      'nobody imports Unused',
    ])
  })

  test('of tools, what only tests take is used; what nobody takes is not', () => {
    const files = {
      ...program,
      'tools/fake-upstream/fake.ts': 'export const forTests = 1, forNobody = 2',
      'src/server/a.test.ts': `import { forTests } from '../../tools/fake-upstream/fake.ts'`,
      'tools/page-parts.ts': 'export const takenByVite = 1',
    }
    expect(deadCode(treeOf(files)).map(({ message }) => message.split(';')[0])).toEqual([
      'nobody imports forNobody',
    ])
  })

  test('import() and a namespace take all exports', () => {
    const files = {
      ...program,
      'src/server/w.ts': `import * as b from './b.ts'; const c = import('./c.ts')`,
      'src/server/b.ts': 'export const b = 1',
      'src/server/c.ts': 'export const c = 1',
    }
    expect(found(deadCode, files)).toEqual([])
  })

  test('an error code that nobody uses is found', () => {
    const files = {
      ...program,
      'src/server/a.ts': `import { aErrors } from '../contract/a-errors.ts'; export const a = 'used'`,
      'src/contract/a-errors.ts': `export const aErrors = { used: { status: 1 }, unused: { status: 2 } }`,
    }
    expect(deadCode(treeOf(files)).map(({ message }) => message)).toEqual([
      'nothing refuses with unused; delete it or use it.',
    ])
  })
})

describe('habits', () => {
  const path = 'src/server/token/token-routes.ts'

  test.each([
    ['comment', '// TODO later'],
    ['comment', '// oxlint-disable-next-line no-var'],
    ['cast', 'const a = b as C'],
    ['cast', 'function f() { return g(b as unknown as C) }'],
    ['bare-number', 'if (user.role >= 10) f()'],
    ['bare-number', 'const on = token.status === 1'],
    ['bare-number', 'const isLog = 5 !== type'],
  ])('%s: %s', (rule, text) => {
    expect(found(badHabits, { [path]: text })).toEqual([`${path} ${rule}`])
  })

  test.each([
    '// oxlint-disable-next-line no-var -- a global of the page',
    'const a = b as const',
    'const a = b as C // checked above',
    '// The driver returns strings here.\nconst a = f(\n  b as C,\n)',
    'const isOk = response.status === 200',
    'const isAdmin = user.role >= Role.admin',
  ])('allowed: %s', (text) => {
    expect(found(badHabits, { [path]: text })).toEqual([])
  })

  test('no function is written straight into a property of a call', () => {
    const relay = 'src/server/relay/text-call.ts'
    const rule = [`${relay} old-function`]
    expect(found(badHabits, { [relay]: 'call.onGone = () => abort()' })).toEqual(rule)
    expect(found(badHabits, { [relay]: 'call.onGone = function () {}' })).toEqual(rule)
    expect(found(badHabits, { [relay]: 'const end = () => abort()\ncall.onGone = end' })).toEqual(
      [],
    )
    expect(found(badHabits, { [path]: 'call.onGone = () => abort()' })).toEqual([])
  })

  test('a page is not asked once for what it will show', () => {
    const page = 'e2e/token.e2e.ts'
    const rule = [`${page} hasty-read`]
    expect(found(badHabits, { [page]: 'expect(await row.innerText()).toBe("a")' })).toEqual(rule)
    const waiting = 'await expect.poll(() => row.innerText()).toBe("a")'
    expect(found(badHabits, { [page]: waiting })).toEqual([])
    const absent = 'expect(await row.innerText()).not.toContain("a")'
    expect(found(badHabits, { [page]: absent })).toEqual([])
    expect(found(badHabits, { [path]: 'expect(await row.innerText()).toBe("a")' })).toEqual([])
  })
})

test('documents name files that exist', () => {
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-tidy-'))
  mkdirSync(join(root, 'docs'))
  mkdirSync(join(root, 'src'))
  writeFileSync(join(root, 'src', 'here.ts'), '')
  writeFileSync(
    join(root, 'docs', 'map.md'),
    [
      'See `src/here.ts`, `src/*.ts`, `src/<noun>.ts`, [map](map.md), [part](#part), [out](https://a.b).',
      'See `src/gone.ts` and `src/*.tsx`,',
      'and [other](other.md#part).',
    ].join('\n'),
  )
  const messages = brokenPaths(root).map(({ line, message }) => `${line} ${message.split(' ')[0]}`)
  rmSync(root, { recursive: true })
  expect(messages).toEqual(['2 src/gone.ts', '2 src/*.tsx', '3 docs/other.md'])
})

describe('tables', () => {
  const path = 'src/server/relay/x.ts'

  test.each(['new Set([1, 3])', 'new Map([[14, a], [T.zhipu, b]])', 'f({ 17: a, 49: a })'])(
    'by bare channel types: %s',
    (text) => {
      expect(found(bareTables, { [path]: text })).toEqual([`${path} bare-number`])
      expect(found(bareTables, { 'src/server/adopt/relative/x.ts': text })).toEqual([])
    },
  )

  test.each(['new Set([401, 402])', 'new Map([[T.zhipu, 1]])', 'f({ 1: a, 400: b })', 'f([1, 2])'])(
    'by something else: %s',
    (text) => expect(found(bareTables, { [path]: text })).toEqual([]),
  )
})

describe('regular expressions', () => {
  test.each([
    [String.raw`/^(?:GET|HEAD) \/+(\S*[\x80-\xff]\S*) HTTP\/1\.[01]\r?\n/`, ['slow-pattern']],
    [String.raw`/^(a+)+$/`, ['slow-pattern']],
    [String.raw`/\s+$/`, ['slow-pattern']],
    ['new RegExp(`${name}+`)', ['built-pattern']],
    [String.raw`/^\s*[a-z]+:\s*\S+$/i`, []],
    [String.raw`/[a-z]+/g`, []],
  ])('%s', (pattern, rules) => {
    const path = 'src/server/http/head.ts'
    const expected = rules.map((rule) => `${path} ${rule}`)
    expect(found(slowPatterns, { [path]: `export const found = ${pattern}\n` })).toEqual(expected)
    expect(found(slowPatterns, { 'src/server/http/head.test.ts': `const x = ${pattern}` })).toEqual(
      [],
    )
  })
})
