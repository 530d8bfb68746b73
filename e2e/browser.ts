/**
 * A real Chromium for the browser tests and for screenshots, from npm packages alone.
 *
 * `@sparticuz/chromium` holds a compressed headless Chromium for Linux x64. It is unpacked once per
 * version into the temporary directory, together with the shared libraries a bare Debian lacks and
 * with a Chinese font. Of that package we take the files only: its recommended arguments switch web
 * security off, and a test under them proves nothing. Elsewhere an installed Chrome or Chromium
 * does.
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

/** Bolder weights are drawn from it. Which letters it has: `fixtures/README.md`. */
const CHINESE_FONT = join(import.meta.dirname, '../fixtures/fonts/NotoSansSC-Regular.ttf')

interface Executable {
  executablePath: string
  env?: Record<string, string>
}

/**
 * A new headless browser; the caller closes it. `CHROME_PATH` names the program to use; else it is
 * the one from npm, else an installed one. Throws when there is none.
 */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const args = [...ARGUMENTS, ...more]
  const { executablePath, env = {} } = await findExecutable()
  return chromium.launch({
    executablePath,
    headless: true,
    args,
    // In the C locale Chromium cannot write 新年.txt as a file name and calls the file `download`.
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
  // The name can be guessed, and we are about to execute what is there.
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
 * Unpacks aside and renames, so that whoever finds `home` finds all of it, however many unpack at
 * once.
 */
async function unpack(home: string): Promise<void> {
  const aside = await mkdtemp(`${home}-`)
  try {
    // In a process of its own, because the package decides by environment variables and changes
    // others.
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
          // Without this name it leaves out the libraries (libnss3 and others) it brings along.
          AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x',
        },
      },
    )
    await addFonts(join(aside, 'fonts'), join(home, 'fonts'))
    await rename(aside, home)
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    // Somebody else was faster: theirs is as good.
    if (!existsSync(join(home, 'chromium'))) throw error
  }
}

async function addFonts(directory: string, finalDirectory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  await copyFile(CHINESE_FONT, join(directory, basename(CHINESE_FONT)))
  // The package's own file names fixed directories. Ours also keeps the machine's fonts out, so
  // that pages look the same everywhere.
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
  // The package exports its entry only; its package.json is two levels above that.
  const path = join(dirname(dirname(require.resolve(name))), 'package.json')
  const { version } = JSON.parse(await readFile(path, 'utf8')) as { version: string } // npm's format
  return version
}

function definedEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.flatMap(([name, value]) => (value ? [[name, value]] : [])))
}
