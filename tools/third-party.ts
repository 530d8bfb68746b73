import { existsSync, globSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Plugin } from 'rolldown'

/** Separates the packages of a list. */
const RULE = `\n${'='.repeat(80)}\n`
const LICENCE_FILE = /^(licen[cs]e|copying|notice)\b/i

/** Writes the licences of the packages in a bundle to `file`. */
export function thirdParty(file: string): Plugin {
  return {
    name: 'third-party',
    writeBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((item) =>
        item.type === 'chunk' ? item.moduleIds : item.originalFileNames,
      )
      const folders = new Set(modules.flatMap((id) => packageFolder(id) ?? []))
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, [...folders].map(licencesOf).toSorted().join(RULE))
    },
  }
}

/**
 * Merges the lists of both bundles of the project at `root` into `dist/THIRD-PARTY.txt`, each
 * package once, with the licences of data (`*.license.txt` beside it).
 */
export function uniteThirdParty(root: string): void {
  const folder = join(root, 'dist')
  const lists = ['console-licences.txt', 'server-licences.txt'].map((name) => join(folder, name))
  const packages = lists.filter(existsSync).flatMap((list) => {
    return readFileSync(list, 'utf8').split(RULE)
  })
  const data = globSync('src/**/*.license.txt', { cwd: root })
    .toSorted()
    .map((file) => readFileSync(join(root, file), 'utf8'))
  const text = [...[...new Set(packages)].toSorted(), ...data].join(RULE)
  writeFileSync(join(folder, 'THIRD-PARTY.txt'), `${HEAD}${RULE}${text}`)
}

const HEAD = 'Gatehouse contains parts of these packages and data, under these licences.\n'

/** Folder of the innermost package that contains a module; null for our own modules. */
function packageFolder(id: string): string | null {
  const path = (id.split('?', 1)[0] ?? '').replace(/^\0/, '').replaceAll('\\', '/')
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? null
}

function licencesOf(folder: string): string {
  // Every npm package has these members.
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as { name: string; version: string; license?: string }
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file))
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim())
  return [`${name} ${version}: ${license ?? 'see below'}`, ...texts].join('\n\n') + '\n'
}
