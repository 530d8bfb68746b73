import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { pageParts } from './tools/page-parts.ts'
import { thirdParty } from './tools/third-party.ts'

const { version }: { version: string } = JSON.parse(
  readFileSync(new URL('package.json', import.meta.url), 'utf8'),
)

/**
 * The server inserts the base path into each response. The development server and builds for other
 * hosts (`VITE_BASE_PATH=/console/`) need it inserted here.
 */
function basePath(): Plugin {
  let path: string | undefined
  return {
    name: 'base-path',
    configResolved(config) {
      path = config.env['VITE_BASE_PATH'] ?? (config.command === 'serve' ? '/' : undefined)
    },
    transformIndexHtml: (html) =>
      path === undefined ? html : html.replace('%GATEHOUSE_BASE%', path),
  }
}

const SMALL_BYTES = 1024

/** Writes compressed variants beside each file, so that the server need not compress. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      const texts = Object.values(bundle).filter(({ fileName }) => /\.(js|css)$/.test(fileName))
      await Promise.all(
        texts.map(async (file) => {
          const content = Buffer.from(file.type === 'chunk' ? file.code : file.source)
          if (content.length < SMALL_BYTES) return
          const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
          const path = join(dir, file.fileName)
          await writeFile(`${path}.br`, await promisify(brotliCompress)(content, { params }))
          await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }))
        }),
      )
    },
  }
}

/** Modules that visitors' pages share with one another and with other pages. */
const SIGN_IN =
  /\/src\/console\/(account|app\/sign-in)\/|\/src\/console\/ui\/(field\/(plain-field|focus-first)|float\/(plain-dialog|top-dialog)|copy-text)\./

/** Small modules that light pages use too. A group would pull them in for every importer. */
const LIGHT =
  /\/console\/(app\/passkey|ui\/(remote-image|field\/(as-typed|plain-field|focus-first)|float\/(plain-dialog|top-dialog)))\./

/** Separate from our own modules; otherwise the largest page would exceed its size budget. */
const isLibrary = (id: string): boolean => id.includes('/node_modules/')

/** Files below this size that are loaded by nearly the same pages are merged, in bytes. */
const MERGED_BYTES = 16_000
const shared = {
  name: 'shared',
  minShareCount: 2,
  entriesAware: true,
  entriesAwareMergeThreshold: MERGED_BYTES,
  priority: 1,
}

export default defineConfig(({ command }) => {
  // A test run sets this to `test`, which would build React for development.
  if (command === 'build') process.env['NODE_ENV'] = 'production'
  return {
    base: './',
    plugins: [
      react(),
      basePath(),
      pageParts(import.meta.dirname),
      compressed(),
      thirdParty(join(import.meta.dirname, 'dist/console-licences.txt')),
    ],
    define: { __CONSOLE_VERSION__: JSON.stringify(version) },
    html: { cspNonce: '%GATEHOUSE_NONCE%' },
    build: {
      outDir: 'dist/console',
      modulePreload: { polyfill: false },
      // The content policy forbids data: URLs for fonts and scripts, and hashed files cache better.
      assetsInlineLimit: 0,
      rolldownOptions: {
        output: {
          // Merged files may import one another. This executes modules in dependency order:
          // otherwise a widget could be created before one that it needs, which leaves a blank
          // page.
          strictExecutionOrder: true,
          // Names of shared chunks list all their users.
          chunkFileNames: ({ name }) => `assets/${name.split('~')[0]}-[hash].js`,
          assetFileNames: ({ names }) =>
            `assets/${(names[0] ?? 'asset').split(/[~.]/)[0]}-[hash][extname]`,
          codeSplitting: {
            groups: [
              { name: 'start', tags: ['$initial'], priority: 3 },
              // Its hooks are small and used everywhere.
              {
                name: 'start',
                test: /@tanstack\/(react-router|router-core|history)\//,
                priority: 2,
              },
              { name: 'light', test: LIGHT, priority: 1 },
              // Code shared by several pages, in a few files instead of dozens.
              { ...shared, test: isLibrary },
              // Small modules are merged into the nearest large file, so modules of the sign-in
              // page are excluded.
              { ...shared, test: (id) => !isLibrary(id) && !SIGN_IN.test(id) },
            ],
          },
        },
      },
    },
  }
})
