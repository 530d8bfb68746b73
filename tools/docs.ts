/**
 * `npm run docs`: builds the manual into `dist/manual`, with the API reference that a server shows
 * at `/api/docs`. VitePress and Redoc are not part of the project's own `npm ci`: they are
 * installed in `docs/manual` when they are missing or of another version.
 *
 * npm run docs the manual npm run docs -- --dev a preview that follows changes npm run docs --
 * --errors only updates the pages of error codes
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { licencesOf, RULE, uniteThirdParty } from './third-party.ts'
import { unexplainedCodes, withErrorFacts } from './manual-errors.ts'

const ROOT = resolve(import.meta.dirname, '..')
const MANUAL = join(ROOT, 'docs/manual')
const OUTPUT = join(ROOT, 'dist/manual')

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { cwd: MANUAL, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? status}`)
}

/** Installs the versions of the lock file, unless they are installed. */
function install(): void {
  const lock = readFileSync(join(MANUAL, 'package-lock.json'))
  const digest = createHash('sha256').update(lock).digest('hex')
  const record = join(MANUAL, 'node_modules/.gatehouse-lock')
  if (existsSync(record) && readFileSync(record, 'utf8') === digest) return
  // VitePress is a development dependency, which NODE_ENV=production would leave out.
  run('npm', ['ci', '--include=dev'])
  writeFileSync(record, digest)
}

/**
 * Changes to Redoc's bundle: it must not load an image from its vendor's server, it reads the nonce
 * of its styles too early, and its search drops characters that are not Latin.
 */
const CHANGES: readonly [from: string, to: string][] = [
  [
    'https://cdn.redoc.ly/redoc/logo-mini.svg',
    'data:image/svg+xml,%3Csvg%20xmlns=%22http://www.w3.org/2000/svg%22/%3E',
  ],
  ['r.nc=void 0', 'r.nc=document.currentScript?.nonce'],
  [
    String.raw`e.replace(/^\\W+/,"").replace(/\\W+$/,"")`,
    String.raw`e.replace(/^[^\\p{L}\\p{N}]+/u,"").replace(/[^\\p{L}\\p{N}]+$/u,"")`,
  ],
]

/** Places of Redoc's texts that its option `labels` does not cover; `reference.js` translates them. */
const TEXTS = [
  '"Search..."',
  '"Authorizations:"',
  '" Parameters"',
  '"Request Body schema: "',
  '"Response Schema: "',
  '" Response Headers "',
  '"Content type"',
  'label:"Payload"',
  '"Copy"',
  '"Copied"',
  '" Expand all "',
  '" Collapse all "',
  'null,"required")',
  'ca("characters"',
  'ca("items"',
  '"non-empty"',
  '"One of"',
  '"Any of"',
  '"property name"',
  '"additional property"',
]

const withTranslation = (place: string): string =>
  place.replace(/"[^"]+"/, (text) => `(window.redocTexts?.[${text}]??${text})`)

function copyReference(): void {
  const bundle = join(MANUAL, 'node_modules/redoc/bundles/redoc.standalone.js')
  const folder = join(OUTPUT, 'assets')
  mkdirSync(folder, { recursive: true })
  let script = readFileSync(bundle, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '')
  const texts = TEXTS.map((place) => [place, withTranslation(place)] as const)
  for (const [from, to] of [...CHANGES, ...texts]) {
    if (!script.includes(from)) throw new Error(`Redoc's bundle does not contain ${from}`)
    script = script.replaceAll(from, to)
  }
  writeFileSync(join(folder, 'redoc.js'), script)
  const redoc = licencesOf(join(MANUAL, 'node_modules/redoc'))
  const parts = readFileSync(`${bundle}.LICENSE.txt`, 'utf8')
  appendFileSync(join(ROOT, 'dist/manual-licences.txt'), `${RULE}${redoc}\n${parts}`)
  for (const name of ['reference.js', 'reference.css']) {
    copyFileSync(join(MANUAL, 'reference', name), join(folder, name))
  }
}

function updateErrorPages(): void {
  for (const language of ['zh', 'en'] as const) {
    const path = join(MANUAL, language, 'errors.md')
    const page = withErrorFacts(readFileSync(path, 'utf8'), language)
    writeFileSync(path, page)
    const missing = unexplainedCodes(page)
    if (missing.length > 0)
      console.log(`${language}/errors.md does not explain: ${missing.join(', ')}`)
  }
}

/** Sources of the manual; their digest shows whether the built manual is up to date. */
const SOURCES = ['docs/manual/**/*', 'CHANGELOG.md', 'tools/docs.ts', 'public/*']

function sourcesDigest(): string {
  const digest = createHash('sha256')
  const exclude = ['**/node_modules/**', '**/.vitepress/cache/**']
  const hidden = ['docs/manual/.vitepress/**/*.{ts,css}']
  const paths = globSync([...SOURCES, ...hidden], { cwd: ROOT, exclude, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  for (const path of [...new Set(paths)].toSorted()) {
    digest.update(`${path}\0`).update(readFileSync(path)).update('\0')
  }
  return digest.digest('hex')
}

function build(vitepress: string): void {
  const record = join(ROOT, 'dist/manual.digest')
  const digest = sourcesDigest()
  const isBuilt = existsSync(OUTPUT) && existsSync(record)
  if (isBuilt && readFileSync(record, 'utf8') === digest) return
  // Removed first, so that an aborted build leaves no record.
  rmSync(record, { force: true })
  install()
  run(process.execPath, [vitepress, 'build'])
  copyReference()
  uniteThirdParty(ROOT)
  writeFileSync(record, digest)
}

updateErrorPages()
if (!process.argv.includes('--errors')) {
  const vitepress = join(MANUAL, 'node_modules/vitepress/bin/vitepress.js')
  if (process.argv.includes('--dev')) {
    install()
    run(process.execPath, [vitepress, 'dev'])
  } else {
    build(vitepress)
  }
}
