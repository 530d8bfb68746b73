import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'

/**
 * A newcomer's path: an empty folder with only the project's files, and the README's first command.
 * Finds missing install steps that stay hidden on machines with everything installed.
 */

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '..')
/** Enough for installing and building on a slow machine. */
const INSTALL_LIMIT_MS = 600_000
const START_LIMIT_MS = 300_000

const folders: string[] = []
afterAll(async () => {
  // A server that has just ended may still be writing its code cache.
  const settings = { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }
  for (const folder of folders) await rm(folder, settings)
})

/** Copies the files that a clone of this working tree would contain. */
async function cloneInto(folder: string): Promise<void> {
  const { stdout } = await run('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  })
  for (const file of new Set(stdout.split('\0').filter(Boolean))) {
    const target = join(folder, file)
    await mkdir(dirname(target), { recursive: true })
    // A listed file that has been deleted would be missing in a clone too.
    await cp(join(ROOT, file), target).catch(() => {})
  }
}

/** The environment of a user with only Node and npm: no variable of this run affects the clone. */
function plainEnvironment(home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_)|VITEST|NODE_|GATEHOUSE|TEST_|VITE)/i.test(name),
  )
  // npm puts this checkout's binaries, including Node, first on the PATH of its scripts.
  const path = (process.env['PATH'] ?? '')
    .split(':')
    .filter((part) => !part.includes('node_modules'))
  return {
    ...Object.fromEntries(kept),
    PATH: path.join(':'),
    DATA_DIR: join(home, 'data'),
    PORT: '0',
  }
}

test(
  'a clone installs, builds its console, starts and responds',
  { timeout: INSTALL_LIMIT_MS + START_LIMIT_MS },
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'gatehouse-clone-'))
    folders.push(home)
    const clone = join(home, 'gatehouse')
    await cloneInto(clone)
    const env = plainEnvironment(home)
    await run('npm', ['ci', '--prefer-offline'], { cwd: clone, env, timeout: INSTALL_LIMIT_MS })

    const told = { ...env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }
    const server = spawn('npm', ['start'], { cwd: clone, env: told })
    const stripped = strippedFiles(server)
    const ended = new Promise((done) => server.once('exit', done))
    let address = ''
    try {
      address = await addressOf(server)
      const page = await fetch(address)
      expect(page.status).toBe(200)
      expect(await page.text()).toContain('<script type="module"')
      const status = await fetch(`${address}api/status`)
      expect(await status.json()).toMatchObject({
        success: true,
        data: { system_name: 'Gatehouse' },
      })
      const login = await fetch(`${address}api/user/login`, {
        method: 'POST',
        body: JSON.stringify({ username: 'root', password: '123456' }),
      })
      expect(await login.json()).toMatchObject({
        success: true,
        data: { must_change_password: true },
      })
      const refused = await fetch(`${address}v1/models`)
      expect(refused.status).toBe(401)
      // The compiler that strips types would otherwise stay in the server's memory.
      expect(stripped).toEqual([])
    } finally {
      server.kill('SIGTERM')
      await ended
    }
    // Ending npm also ends the process that it started.
    await expect.poll(() => isListening(address)).toBe(false)
  },
)

const isListening = (address: string): Promise<boolean> =>
  fetch(`${address}healthz`).then(
    () => true,
    () => false,
  )

/** Collects the files whose types Node stripped in the server, from its debug output. */
function strippedFiles(server: ReturnType<typeof spawn>): string[] {
  const files: string[] = []
  let rest = ''
  server.stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    files.push(...lines.filter((line) => line.includes('saving transpilation cache')))
  })
  return files
}

function addressOf(server: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((found, fail) => {
    let output = ''
    const timer = setTimeout(
      () => fail(new Error(`it does not listen:\n${output}`)),
      START_LIMIT_MS,
    )
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      const address = /"address":"([^"]+)"/.exec(output)?.[1]
      if (address === undefined) return
      clearTimeout(timer)
      found(address)
    }
    server.stdout?.on('data', read)
    server.stderr?.on('data', read)
    server.once('close', () => fail(new Error(`it ended:\n${output}`)))
  })
}
