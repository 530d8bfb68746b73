import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Another version of Gatehouse that can be started. */
export type OtherVersion = {
  /** Version in its package.json. */
  version: string
  /** Node arguments before the command. */
  program: readonly string[]
  remove(): Promise<void>
}

const ROOT = path.join(import.meta.dirname, '../..')

/**
 * `from` is the folder of an installed package, or a commit, whose sources then run with the
 * current `node_modules`.
 */
export async function otherVersion(from: string): Promise<OtherVersion> {
  if (existsSync(path.join(from, 'package.json'))) {
    return { ...programOf(path.resolve(from)), remove: () => Promise.resolve() }
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-version-'))
  const archive = execFileSync('git', ['archive', from, 'package.json', 'src'], {
    cwd: ROOT,
    maxBuffer: 1024 * 1024 * 1024,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  // Newer than the sources, so that starting does not build the console.
  mkdirSync(path.join(folder, 'dist/console'), { recursive: true })
  writeFileSync(path.join(folder, 'dist/console/index.html'), '<!doctype html>')
  return { ...programOf(folder), remove: () => rm(folder, { recursive: true, force: true }) }
}

function programOf(folder: string): Pick<OtherVersion, 'version' | 'program'> {
  const manifest: { version: string; bin: { gatehouse: string } } = JSON.parse(
    readFileSync(path.join(folder, 'package.json'), 'utf8'),
  )
  return { version: manifest.version, program: [path.join(folder, manifest.bin.gatehouse)] }
}
