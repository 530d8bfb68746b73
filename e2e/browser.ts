/**
 * Launches a real Chromium for browser tests and screenshots, from npm packages only.
 *
 * `@sparticuz/chromium` contains a compressed headless Chromium for Linux x64. It is unpacked once
 * per version into the temporary directory, with the shared libraries that a minimal Debian lacks
 * and a Chinese font. Only the package's files are used: its recommended arguments disable web
 * security, which would invalidate tests. On other systems an installed Chrome or Chromium is used.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, lstat, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

const run = promisify(execFile)
const require = createRequire(import.meta.url)

/** How long an action in a page may wait: long enough for a busy machine, as in `vitest.config.ts`. */
export const WAIT_MS = 60_000

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

/** Bold weights are synthesized from it. Its character set: `fixtures/README.md`. */
const CHINESE_FONT = join(import.meta.dirname, '../fixtures/fonts/NotoSansSC-Regular.ttf')

interface Executable {
  executablePath: string
  env?: Record<string, string>
}

/**
 * Launches a headless browser, which the caller closes. Uses `CHROME_PATH` if set, else the
 * Chromium from npm, else an installed one. Throws if Chromium is missing.
 */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const args = [...ARGUMENTS, ...more]
  const { executablePath, env = {} } = await findExecutable()
  return chromium.launch({
    executablePath,
    headless: true,
    args,
    // In the C locale, Chromium cannot write 新年.txt as a file name and calls the file `download`.
    env: { ...definedEnvironment(), LC_ALL: 'C.UTF-8', ...env },
  })
}

async function findExecutable(): Promise<Executable> {
  const chosen = process.env.CHROME_PATH
  if (chosen) return { executablePath: chosen }
  if (process.platform === 'linux' && process.arch === 'x64') return unpackedChromium()
  const installed = INSTALLED.find((path) => existsSync(path))
  if (installed) return { executablePath: installed }
  throw new Error('There is no Chromium here. Install one, or name its program in CHROME_PATH.')
}

async function unpackedChromium(): Promise<Executable> {
  const version = await packageVersion('@sparticuz/chromium')
  const user = process.getuid?.() ?? 0
  const home = join(tmpdir(), `gatehouse-chromium-${version}-${user}`)
  if (!existsSync(home)) await unpack(home)
  // The path is predictable, and its content is about to be executed.
  const { uid } = await lstat(home)
  if (uid !== user) throw new Error(`${home} belongs to somebody else; remove it.`)
  return {
    executablePath: join(home, 'chromium'),
    env: {
      LD_LIBRARY_PATH: join(home, 'al2023', 'lib'),
      FONTCONFIG_PATH: join(home, 'fonts'),
    },
  }
}

/**
 * Unpacks into a temporary folder and renames it, so that `home` is always complete, even if
 * several processes unpack at the same time.
 */
async function unpack(home: string): Promise<void> {
  const aside = await mkdtemp(`${home}-`)
  try {
    // In a separate process, because the package reads and changes environment variables.
    await run(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `const { default: chromium } = await import('@sparticuz/chromium')
        await chromium.executablePath()`,
      ],
      {
        cwd: import.meta.dirname,
        env: {
          ...definedEnvironment(),
          TMPDIR: aside,
          // Without this variable it omits the bundled libraries (libnss3 and others).
          AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x',
        },
      },
    )
    await addFonts(join(aside, 'fonts'), join(home, 'fonts'))
    await rename(aside, home)
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    // Another process was faster; its result is equivalent.
    if (!existsSync(join(home, 'chromium'))) throw error
  }
}

async function addFonts(directory: string, finalDirectory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  await copyFile(CHINESE_FONT, join(directory, basename(CHINESE_FONT)))
  // The package's own file contains fixed directories. This one also excludes the machine's fonts,
  // so that pages look the same everywhere.
  await writeFile(
    join(directory, 'fonts.conf'),
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${finalDirectory}</dir>
  <cachedir>${join(finalDirectory, 'cache')}</cachedir>
</fontconfig>
`,
  )
}

async function packageVersion(name: string): Promise<string> {
  // The package exports only its entry; its package.json is two levels above that.
  const path = join(dirname(dirname(require.resolve(name))), 'package.json')
  const { version } = JSON.parse(await readFile(path, 'utf8')) as { version: string } // npm's format
  return version
}

function definedEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.flatMap(([name, value]) => (value ? [[name, value]] : [])))
}
