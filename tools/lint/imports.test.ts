import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { cruise, type ICruiseOptions, type IFlattenedRuleSet } from 'dependency-cruiser'
import { expect, test } from 'vitest'

const config: { default: { options: ICruiseOptions; forbidden: IFlattenedRuleSet['forbidden'] } } =
  await import(join(import.meta.dirname, '../../.dependency-cruiser.mjs'))

type Pair = readonly [from: string, to: string]

/** The pairs of which the first file may not import the second. */
async function forbidden(pairs: readonly Pair[], keyword = 'import'): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-imports-'))
  const texts: Record<string, string> = {}
  for (const name of ['zod', 'kysely', 'undici']) texts[`node_modules/${name}/index.js`] = ''
  for (const [, to] of pairs) if (to.startsWith('src/')) texts[to] ??= ''
  for (const [from, to] of pairs) {
    const target = to.includes('/') ? `./${relative(dirname(from), to)}` : to
    texts[from] = `${texts[from] ?? ''}${keyword} { x } from '${target}'\n`
    if (to.includes('/')) texts[to] ??= ''
  }
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const folders = new Set(pairs.map(([from]) => from.split('/')[0] ?? ''))
  const { forbidden: rules = [], options } = config.default
  const { output } = await cruise([...folders], {
    ...options,
    baseDir: root,
    validate: true,
    ruleSet: { forbidden: rules },
  })
  rmSync(root, { recursive: true })
  if (typeof output === 'string') throw new Error(output)
  return [...new Set(output.summary.violations.map(({ from, to }) => `${from} → ${to}`))].toSorted()
}

const WRONG: Pair[] = [
  ['src/contract/a.ts', 'src/server/app.ts'],
  ['src/contract/b.ts', 'src/console/app/call.ts'],
  ['src/contract/c.ts', 'fs'],
  ['src/contract/d.test.ts', 'src/console/app/call.ts'],
  ['src/server/a.ts', 'src/console/ui/page.tsx'],
  ['src/server/b.ts', 'src/server/test/factories.ts'],
  ['src/server/c.ts', 'tools/fake.ts'],
  ['src/server/channel/channel-test.ts', 'src/server/relay/probe.ts'],
  ['src/server/user/administration.ts', 'src/server/limit/limit-routes.ts'],
  ['src/server/relay/relay.ts', 'src/server/relay/trace/route-routes.ts'],
  ['src/server/relay/protocols/dialect/provider.ts', 'src/server/relay/vendors/registry.ts'],
  ['src/server/relay/transport/wire.ts', 'src/server/relay/protocols/dialect/dialect.ts'],
  ['src/server/db/a.ts', 'src/server/adopt/adopt-database.ts'],
  ['src/server/db/b.ts', 'src/server/ledger/ledger.ts'],
  ['src/console/token/a.ts', 'src/server/app.ts'],
  ['src/console/token/b.ts', 'src/console/channel/channel-form.ts'],
  ['src/console/token/c.ts', 'src/console/routes.tsx'],
  ['src/console/token/d.ts', 'fs'],
  ['src/console/app/layout.tsx', 'src/console/token/page.tsx'],
  ['src/console/ui/a.tsx', 'src/console/app/call.ts'],
  ['src/console/ui/b.tsx', 'src/console/paths.ts'],
]

const RIGHT: Pair[] = [
  ['src/contract/a.ts', 'zod'],
  ['src/contract/a.ts', 'src/contract/paging.ts'],
  ['src/contract/a.test.ts', 'fs'],
  ['src/server/a.test.ts', 'tools/fake.ts'],
  ['src/server/a.ts', 'src/contract/token.ts'],
  ['src/server/server.ts', 'src/server/relay/relay.ts'],
  ['src/server/all-routes.ts', 'src/server/relay/relay.ts'],
  ['src/server/channel/balance.ts', 'src/server/relay/vendors/registry.ts'],
  ['src/server/relay/protocols/dialect/provider.ts', 'src/server/relay/transport/call.ts'],
  ['src/server/server.ts', 'src/server/log/log-routes.ts'],
  ['src/server/log/log-routes.ts', 'src/server/log/export-routes.ts'],
  ['src/server/log/log-routes.test.ts', 'src/server/log/log-routes.ts'],
  ['src/server/db/sqlite-worker.ts', 'src/server/ledger/batch/sqlite-batch.ts'],
  ['src/server/db/migrate.test.ts', 'src/server/commands/open.ts'],
  ['src/console/token/page.tsx', 'src/console/app/call.ts'],
  ['src/console/token/page.tsx', 'src/console/paths.ts'],
  ['src/console/token/page.tsx', 'src/console/ui/table.tsx'],
  ['src/console/routes.tsx', 'src/console/token/page.tsx'],
]

/** A type may be taken from these, a value may not. */
const VALUES: Pair[] = [
  ['src/server/a.ts', 'kysely'],
  ['src/server/ledger/price.ts', 'kysely'],
  ['src/server/token/token.ts', 'src/server/token/token-store.ts'],
  ['src/server/user/user.ts', 'src/server/db/database.ts'],
  ['src/server/log/log.ts', 'undici'],
  ['src/server/option/option.ts', 'fs'],
]

const arrows = (pairs: readonly Pair[]) =>
  pairs.map(
    ([from, to]) =>
      `${from} → ${/^(kysely|undici)$/.test(to) ? `node_modules/${to}/index.js` : to}`,
  )

test('imports that point the wrong way are found, also of types', async () => {
  expect(await forbidden(WRONG)).toEqual(arrows(WRONG).toSorted())
  expect(await forbidden(WRONG, 'import type')).toEqual(arrows(WRONG).toSorted())
})

test('imports that point the right way are accepted', async () => {
  expect(await forbidden(RIGHT)).toEqual([])
})

test('SQL stays in stores, and rules have no effects', async () => {
  expect(await forbidden(VALUES)).toEqual(arrows(VALUES).toSorted())
  expect(await forbidden(VALUES, 'import type')).toEqual([])
  expect(
    await forbidden([
      ['src/server/token/token-store.ts', 'kysely'],
      ['src/server/db/ids.ts', 'kysely'],
      ['src/server/ledger/batch/sqlite-batch.ts', 'kysely'],
    ]),
  ).toEqual([])
})
