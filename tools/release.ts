/**
 * `npm run release`: writes the files of a release to `dist/release/`: the npm package, an archive
 * with Node for each Linux platform, a bill of materials (CycloneDX), and checksums. Any machine
 * can build all of them: the binaries of other platforms come from npm packages.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import nodePackages from './node/package.json' with { type: 'json' }

const ROOT = resolve(import.meta.dirname, '..')
const OUTPUT = join(ROOT, 'dist/release')
const ARCHITECTURES = ['x64', 'arm64'] as const

/** The launcher of an archive: uses the archive's Node, wherever it is unpacked. */
const LAUNCHER = `#!/bin/sh
here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/node" "$here/../lib/node_modules/gatehouse/${manifest.bin.gatehouse}" "$@"
`

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `${status}\n${stderr}`}`)
}

/** Packs the installed package with the Node of that architecture. */
function makeArchive(packed: string, architecture: (typeof ARCHITECTURES)[number]): void {
  const name = `gatehouse-${manifest.version}-linux-${architecture}`
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-release-'))
  try {
    const root = join(folder, name)
    const platform = ['--os', 'linux', '--cpu', architecture, '--libc', 'glibc']
    // npm requires its prefix to exist.
    mkdirSync(join(root, 'lib'), { recursive: true })
    run('npm', ['install', '--global', '--prefix', root, ...platform, packed])

    const nodePackage = `node-linux-${architecture}` as const
    const version = nodePackages.optionalDependencies[nodePackage]
    // `npm install` rejects an explicitly named package of another platform.
    run('npm', ['pack', `${nodePackage}@${version}`, '--pack-destination', folder])
    run('tar', ['-xzf', join(folder, `${nodePackage}-${version}.tgz`), '-C', folder])
    const node = join(folder, 'package')
    copyFileSync(join(node, 'bin/node'), join(root, 'bin/node'))
    copyFileSync(join(node, 'LICENSE'), join(root, 'LICENSE-node'))

    const launcher = join(root, 'bin/gatehouse')
    rmSync(launcher)
    writeFileSync(launcher, LAUNCHER)
    chmodSync(launcher, 0o755)
    copyFileSync(join(ROOT, 'deploy/gatehouse.service'), join(root, 'gatehouse.service'))
    const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name']
    run('tar', [...owner, '-czf', join(OUTPUT, `${name}.tar.gz`), '-C', folder, name])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Bom {
  metadata: { component: { name: string } }
  components: { name: string; version: string; 'bom-ref': string }[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

/**
 * Reduces npm's bill of materials to what users get: production dependencies, and the contents of
 * the bundles (`thirdParty`, the text of `THIRD-PARTY.txt`).
 */
export function shippedParts(bom: Bom, production: ReadonlySet<string>, thirdParty: string): Bom {
  const bundled = new Set(
    [...thirdParty.matchAll(/^(\S+) (\d\S*): /gm)].map(([, name, version]) => `${name}@${version}`),
  )
  const isShipped = (part: { name: string; version: string }) => {
    const id = `${part.name}@${part.version}`
    return bundled.has(id) || production.has(id)
  }
  const components = bom.components.filter(isShipped)
  const refs = new Set([
    ...components.map((part) => part['bom-ref']),
    `gatehouse@${manifest.version}`,
  ])
  const dependencies = bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((on) => refs.has(on)) }))
  const component = { ...bom.metadata.component, name: 'gatehouse' }
  return { ...bom, metadata: { ...bom.metadata, component }, components, dependencies }
}

function writeBom(): void {
  const sbom = (...options: string[]) =>
    // npm's format, of which only these members are read.
    JSON.parse(run('npm', ['sbom', '--sbom-format', 'cyclonedx', ...options])) as Bom
  const production = sbom('--omit', 'dev', '--omit', 'optional')
  const bom = shippedParts(
    sbom(),
    new Set(production.components.map(({ name, version }) => `${name}@${version}`)),
    readFileSync(join(ROOT, 'dist/THIRD-PARTY.txt'), 'utf8'),
  )
  const file = join(OUTPUT, `gatehouse-${manifest.version}.cdx.json`)
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`)
}

function writeChecksums(): void {
  const lines = readdirSync(OUTPUT)
    .toSorted()
    .map((name) => {
      const digest = createHash('sha256')
        .update(readFileSync(join(OUTPUT, name)))
        .digest('hex')
      return `${digest}  ${name}\n`
    })
  writeFileSync(join(OUTPUT, 'SHA256SUMS'), lines.join(''))
}

if (import.meta.main) {
  rmSync(OUTPUT, { recursive: true, force: true })
  mkdirSync(OUTPUT, { recursive: true })
  run('npm', ['pack', '--pack-destination', OUTPUT])
  const packed = join(OUTPUT, `gatehouse-${manifest.version}.tgz`)
  for (const architecture of ARCHITECTURES) makeArchive(packed, architecture)
  writeBom()
  writeChecksums()
  process.stdout.write(readFileSync(join(OUTPUT, 'SHA256SUMS'), 'utf8'))
}
