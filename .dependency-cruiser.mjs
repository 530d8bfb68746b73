/**
 * Which way imports point (`docs/architecture.md`). `npm run check` fails on one that points
 * another way. Cycles between files are found by oxlint (`import/no-cycle`); the order of the
 * relay's folders excludes cycles between them.
 */

const TEST = String.raw`\.(test|e2e)\.tsx?$|/test/`
/** The stores, the database layer, and the ledger's storage: all of it but story and price. */
const SQL = String.raw`-store\.ts$|^src/server/db/|^src/server/ledger/(?!(ledger|operations|price)\.ts$|price/)`
/** Packages and files with an effect on the world. */
const EFFECT = String.raw`node_modules/(kysely|pg|better-sqlite3|undici|fastify|nodemailer)/|^(node:)?(fs|net|http|https|dns|child_process|worker_threads|timers)(/|$)|-(store|routes)\.ts$|^src/server/(db|http)/`

/** Folders of the relay from the bottom up: a folder must not import one that follows it. */
const RELAY_FOLDERS = [
  'json',
  'transport',
  'protocols/canonical',
  'protocols/dialect',
  'protocols/gemini',
  'protocols/openai-chat',
  'protocols/openai-responses',
  'protocols/anthropic',
  'count',
  'audio',
  'vendors',
  'errors',
  'routing',
  'record',
  'conversion',
  'surfaces',
  'call',
  'other-calls',
  'forecast',
]

function forbid(name, from, to, comment) {
  return { name, severity: 'error', comment, from, to }
}

export default {
  forbidden: [
    forbid(
      'product-without-tools',
      // The demo is its own upstream, so that it answers without a key and without a network.
      { path: '^src/', pathNot: [TEST, '^src/server/commands/demo.ts$'] },
      { path: ['^(tools|bench|e2e)/', TEST] },
      'The product does not import its tools or tests.',
    ),
    forbid(
      'contract-knows-zod',
      { path: '^src/contract/', pathNot: TEST },
      { pathNot: '^src/contract/|node_modules/zod/' },
      'The contract runs in the browser and in Node: it imports zod and the contract.',
    ),
    forbid(
      'contract-knows-no-side',
      { path: '^src/contract/' },
      { path: '^src/(server|console)/' },
      'What both sides need belongs in src/contract.',
    ),
    forbid(
      'server-without-console',
      { path: '^src/server/' },
      { path: '^src/console/' },
      'What both sides need belongs in src/contract.',
    ),
    forbid(
      'console-without-server',
      { path: '^src/console/' },
      { path: '^src/server/' },
      'What both sides need belongs in src/contract.',
    ),
    forbid(
      'console-without-node',
      { path: '^src/console/', pathNot: TEST },
      { dependencyTypes: ['core'] },
      'The console runs in a browser.',
    ),
    forbid(
      'relay-above-nouns',
      { path: '^src/server/', pathNot: ['^src/server/(relay/|server.ts$|all-routes.ts$)', TEST] },
      { path: '^src/server/relay/', pathNot: '^src/server/relay/vendors/' },
      'Only server.ts and all-routes.ts import the relay; what both need lies beside it.',
    ),
    ...RELAY_FOLDERS.slice(0, -1).map((folder, index) =>
      forbid(
        `relay-${folder}-points-down`,
        { path: `^src/server/relay/${folder}/`, pathNot: TEST },
        { path: `^src/server/relay/(${RELAY_FOLDERS.slice(index + 1).join('|')})/` },
        'The folder is below that one in RELAY_FOLDERS; pass it in.',
      ),
    ),
    forbid(
      'routes-on-top',
      { path: '^src/server/', pathNot: ['-routes.ts$', '^src/server/server.ts$', TEST] },
      { path: '^src/server/.*-routes.ts$' },
      'Only server.ts and other routes import routes; put what both need in a file of its own.',
    ),
    forbid(
      'db-at-the-bottom',
      { path: '^src/server/db/', pathNot: TEST },
      {
        path: '^src/server/',
        pathNot: String.raw`^src/server/(db/|ledger/(batch/|operations\.ts$)|slots\.ts$)`,
      },
      'The database layer is below everything else; pass it in.',
    ),
    forbid(
      'sql-in-stores',
      { path: '^src/', pathNot: [SQL, TEST] },
      { path: 'node_modules/(kysely|pg|better-sqlite3)/', dependencyTypesNot: ['type-only'] },
      'SQL is written in *-store.ts only; add an operation to the store.',
    ),
    forbid(
      'rules-are-pure',
      {
        path: String.raw`^src/server/(([a-z-]+)/\2|ledger/price)\.ts$`,
        // The one way out of the process, and the two files that put their folder together.
        pathNot: String.raw`/(egress|relay|ledger)\.ts$`,
      },
      { path: EFFECT, dependencyTypesNot: ['type-only'] },
      'Rules are pure; do this in the store or the routes and pass the result.',
    ),
    forbid(
      'pages-below-the-top',
      { path: '^src/console/[^/]+/' },
      { path: String.raw`^src/console/(main|routes)\.tsx$` },
      'Links come from paths.ts.',
    ),
    forbid(
      'ui-knows-nothing',
      { path: '^src/console/ui/' },
      { path: '^src/console/', pathNot: '^src/console/ui/' },
      'Pass it in as a property.',
    ),
    forbid(
      'app-below-pages',
      { path: '^src/console/app/' },
      { path: '^src/console/[^/]+/', pathNot: '^src/console/(app|ui)/' },
      'routes.tsx joins app and pages.',
    ),
    forbid(
      'pages-apart',
      { path: '^src/console/([^/]+)/', pathNot: '^src/console/(app|ui)/' },
      { path: '^src/console/[^/]+/', pathNot: '^src/console/($1|app|ui)/' },
      'What two pages need belongs in app/ or ui/.',
    ),
  ],
  options: {
    // The compiler's package has no interface since TypeScript 7.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}
