import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown, type Plugin, type PluginContext } from 'rolldown'
import manifest from '../package.json' with { type: 'json' }
import { thirdParty } from './third-party.ts'

/**
 * Bundles the server of the project at `root` into `dist/server`: JavaScript modules with source
 * maps, and the data files that they read. Packages in `dependencies` stay external: they have
 * native parts and are installed with the package.
 */
export async function buildServer(root: string): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: 'src/server/gatehouse.js',
    platform: 'node',
    external: Object.keys(manifest.dependencies),
    // An optional part of a library that is not installed only causes a warning; a mistyped name of
    // our own is found by the type check.
    logLevel: 'warn',
    plugins: [filesByAddress(), thirdParty(join(root, 'dist/server-licences.txt'))],
  })
  await bundle.write({
    dir: join(root, 'dist/server'),
    cleanDir: true,
    format: 'esm',
    sourcemap: true,
    // A single folder at the same depth as the sources, so that paths relative to `import.meta.url`
    // are valid in both.
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  })
  await bundle.close()
}

/** A file next to the module: `new URL('model-data.json', import.meta.url)`. */
const BESIDE = /new URL\(\s*'((?:\.{1,2}\/)*[\w./-]+)',\s*import\.meta\.url\s*\)/g
/** A file of a library: `import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken')`. */
const OF_LIBRARY = /import\.meta\.resolve\('([^']+)'\)/g

/**
 * Includes files that modules reference by URL: threads (`.ts`) are bundled, data files and folders
 * (`migrations/`) are copied.
 */
function filesByAddress(): Plugin {
  return {
    name: 'files-by-address',
    transform: {
      filter: { id: /\/src\/server\//, code: /new URL\(|import\.meta\.resolve\(/ },
      handler(code, id) {
        const taken = code
          .replaceAll(BESIDE, (whole, path: string) => {
            // Its relative path is the same from the bundle.
            if (path === '../../package.json') return whole
            return take(this, fileURLToPath(new URL(path, pathToFileURL(id))), path.endsWith('/'))
          })
          .replaceAll(OF_LIBRARY, (_, specifier: string) => {
            return `${take(this, fileURLToPath(import.meta.resolve(specifier)), false)}.href`
          })
        return taken === code ? null : { code: taken, map: null }
      },
    },
  }
}

function take(context: PluginContext, path: string, isFolder: boolean): string {
  const name = basename(path)
  if (isFolder) {
    for (const file of readdirSync(path)) {
      const source = readFileSync(join(path, file))
      context.emitFile({ type: 'asset', fileName: `${name}/${file}`, source })
    }
    return `new URL('${name}/', import.meta.url)`
  }
  context.addWatchFile(path)
  if (name.endsWith('.ts')) {
    const fileName = name.replace(/\.ts$/, '.js')
    context.emitFile({ type: 'chunk', id: path, fileName })
    return `new URL('${fileName}', import.meta.url)`
  }
  context.emitFile({ type: 'asset', fileName: name, source: readFileSync(path) })
  return `new URL('${name}', import.meta.url)`
}
