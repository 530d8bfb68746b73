import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { systemClock } from '../clock.ts'
import { ConfigError } from '../config.ts'

const ROOT = path.join(import.meta.dirname, '../../..')

/**
 * A fresh clone has no built console, and after an update it is older than its sources. A service
 * may not write to its own program: it serves what is there. Throws `ConfigError` when nothing is.
 */
export function buildConsoleIfNeeded(root = ROOT): void {
  const page = path.join(root, 'dist/console/index.html')
  const built = modifiedMs(page)
  const sources = ['src/console', 'src/contract', 'index.html', 'vite.config.ts']
  if (built > 0 && sources.every((source) => newestMs(path.join(root, source)) <= built)) return
  if (!mayBuild(root)) {
    const what = built > 0 ? 'is older than its sources' : 'has not been built'
    const line = `the console ${what}, and this user may not build it: npm run build`
    if (built === 0) throw new ConfigError(line)
    process.stderr.write(`${line}\n`)
    return
  }
  process.stderr.write('building the console …\n')
  // In a process of its own: the bundler would stay in this one's memory.
  const build = spawnSync(process.execPath, [path.join(root, 'tools/build-console.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (build.status !== 0) throw new ConfigError('the console could not be built: npm run build')
  // Sources that are newer but the same (a fresh checkout) are not looked at again.
  const now = systemClock.nowSeconds()
  fs.utimesSync(page, now, now)
}

/** Whether the folder that a build empties can be written, or the next one above that is there. */
function mayBuild(root: string): boolean {
  const places = ['dist/console', 'dist', ''].map((place) => path.join(root, place))
  try {
    fs.accessSync(places.find((place) => fs.existsSync(place)) ?? root, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

const modifiedMs = (file: string): number =>
  fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

function newestMs(place: string): number {
  if (!fs.statSync(place, { throwIfNoEntry: false })?.isDirectory()) return modifiedMs(place)
  const files = fs.readdirSync(place, { recursive: true, withFileTypes: true })
  return Math.max(
    0,
    ...files
      .filter((entry) => entry.isFile())
      .map((entry) => modifiedMs(path.join(entry.parentPath, entry.name))),
  )
}
