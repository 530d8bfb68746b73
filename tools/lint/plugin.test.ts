import { RuleTester } from 'oxlint/plugins-dev'
import { describe, test } from 'vitest'
import { rules } from './plugin.ts'

RuleTester.describe = describe
RuleTester.it = test
const tester = new RuleTester({ languageOptions: { parserOptions: { lang: 'ts' } } })

/** Texts that a rule accepts, and texts in which it finds one fault each. */
function check(name: keyof typeof rules, valid: string[], invalid: string[], filename = 'a.ts') {
  tester.run(name, rules[name], {
    valid: valid.map((code) => ({ code, filename })),
    invalid: invalid.map((code) => ({ code, filename, errors: 1 })),
  })
}

check(
  'cast-reason',
  [
    'const a = b as const',
    'const a = b as C // checked above',
    '// The driver returns strings here.\nconst a = f(\n  b as C,\n)',
  ],
  ['const a = b as C', 'function f() { return g(b as unknown as C) }'],
)
check(
  'comments',
  [
    '// oxlint-disable-next-line no-var -- a global of the page',
    `// ${'a'.repeat(97)}`,
    `// see https://example.com/${'a'.repeat(98)}`,
    `const text = \`${'a'.repeat(98)}\` // short`,
  ],
  ['// oxlint-disable-next-line no-var', `// ${'a'.repeat(98)}`, `/** ${'a'.repeat(98)} */`],
)
check(
  'linear-pattern',
  [String.raw`/^\s*[a-z]+:\s*\S+$/i`, '/[a-z]+/g'],
  [
    String.raw`/^(?:GET|HEAD) \/+(\S*[\x80-\xff]\S*) HTTP\/1\.[01]\r?\n/`,
    '/^(a+)+$/',
    String.raw`/\s+$/`,
    'new RegExp(`${name}+`)',
  ],
)
check(
  'named-comparison',
  ['const isOk = response.status === 200', 'const isAdmin = user.role >= Role.admin'],
  ['if (user.role >= 10) f()', 'const on = token.status === 1', 'const isLog = 5 !== type'],
)
check(
  'named-table',
  ['new Set([401, 402])', 'new Map([[T.zhipu, 1]])', 'f({ 1: a, 400: b })', 'f([1, 2])'],
  ['new Set([1, 3])', 'new Map([[14, a], [T.zhipu, b]])', 'f({ 17: a, 49: a })'],
)
check(
  'no-barrel',
  [`import { a } from './a.ts'; export const b = a`, `export { a } from './a.ts'; const b = 1`, ''],
  [`export { a } from './a.ts'`, `export * from './a.ts'; const b = 1`],
)
check(
  'no-inline-handler',
  ['const end = () => abort()\ncall.onGone = end'],
  ['call.onGone = () => abort()', 'call.onGone = function () {}'],
)
check('passed-clock', ['const day = new Date(0)'], ['const now = new Date()'])
check(
  'poll-page',
  [
    'await expect.poll(() => row.innerText()).toBe("a")',
    'expect(await row.innerText()).not.toContain("a")',
  ],
  ['expect(await row.innerText()).toBe("a")'],
)
check(
  'sql-in-stores',
  ['// like SELECT id FROM tokens', "const sentence = 'Select a model from the list.'"],
  [
    "const a = 'SELECT id FROM tokens'",
    'const a = `UPDATE tokens SET name = ${name}`',
    "db.read.selectFrom('ledger')",
    "const { updateTable } = db; updateTable('users')",
  ],
)
check(
  'plain-names',
  ['export const serviceTier = 1', 'const utils = 1'],
  [
    'export class TokenManager {}',
    'export const tokenUtils = {}',
    'export async function findVoucher() {}',
    'export type recharge_log = 1',
  ],
)
check('plain-names', [], [''], 'token-service.ts')
check('plain-names', [], [''], 'coupon.test.ts')
