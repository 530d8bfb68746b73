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
 * The server fills the base path in for each answer. The development server, and a build for other
 * hosts (`VITE_BASE_PATH=/console/`), have nobody to do it.
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

/** Beside each file its compressed forms, so that the server has nothing to compress. */
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

/** What the pages of visitors share with one another and with other pages. */
const SIGN_IN =
  /\/src\/console\/(account|app\/sign-in)\/|\/src\/console\/ui\/(field\/(plain-field|focus-first)|float\/(plain-dialog|top-dialog)|copy-text)\./

/** Small, and of light pages too: a group would take them along for what imports them. */
const LIGHT = /\/console\/ui\/(picture|field\/as-typed)\./

/** Kept apart from our own modules, or the heaviest page would weigh more than a page may. */
const isLibrary = (id: string): boolean => id.includes('/node_modules/')

/** Bytes under which files that go to nearly the same pages become one. */
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
      // The content policy allows no data: fonts or scripts, and hashed files cache better.
      assetsInlineLimit: 0,
      rolldownOptions: {
        output: {
          // Merged files may import one another. Whichever comes first, modules run in their order:
          // otherwise a widget could be made of another that is not there yet, a blank page.
          strictExecutionOrder: true,
          // Names of shared chunks list their users, at length.
          chunkFileNames: ({ name }) => `assets/${name.split('~')[0]}-[hash].js`,
          assetFileNames: ({ names }) =>
            `assets/${(names[0] ?? 'asset').split(/[~.]/)[0]}-[hash][extname]`,
          codeSplitting: {
            groups: [
              { name: 'start', tags: ['$initial'], priority: 3 },
              // Its hooks are small and everywhere.
              {
                name: 'start',
                test: /@tanstack\/(react-router|router-core|history)\//,
                priority: 2,
              },
              { name: 'light', test: LIGHT, priority: 1 },
              // What several pages share, in a few files instead of dozens.
              { ...shared, test: isLibrary },
              // Small modules are put into the nearest big file, so those that the sign-in page needs
              // take no part.
              { ...shared, test: (id) => !isLibrary(id) && !SIGN_IN.test(id) },
            ],
          },
        },
      },
    },
  }
})
