import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChannel, createToken, giveQuota, signIn } from '../bench/management-client.ts'
import { startGatehouse } from '../e2e/running-gatehouse.ts'
import manifest from '../package.json' with { type: 'json' }
import { startFakeUpstream } from './fake-upstream/fake-upstream.ts'

/** Packing builds what is stale, and installing may access the registry. */
const INSTALL_LIMIT_MS = 300_000
const ROOT = resolve(import.meta.dirname, '..')
const MEBIBYTE = 1024 * 1024
const UNPACKED_MAX = 150 * MEBIBYTE
const PASSWORD = 'RootPass1'

/** Folder for the installed package. */
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-package-'))
  npm(ROOT, 'pack', '--pack-destination', folder)
  npm(folder, 'install', '--prefer-offline', `./gatehouse-${manifest.version}.tgz`)
}, INSTALL_LIMIT_MS)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const installed = (path: string) => join(folder, 'node_modules', path)

function npm(cwd: string, ...args: string[]): void {
  const options = { cwd, encoding: 'utf8', shell: process.platform === 'win32' } as const
  const { status, stdout, stderr } = spawnSync('npm', args, options)
  if (status !== 0) throw new Error(`npm ${args[0]} ended with ${status}\n${stdout}${stderr}`)
}

test('the installed package serves, relays, meters and reconciles', async () => {
  const program = join(installed('gatehouse'), manifest.bin.gatehouse)
  const upstream = await startFakeUpstream()
  const gatehouse = await startGatehouse({ program, env: { INITIAL_ROOT_PASSWORD: PASSWORD } })
  try {
    const { url } = gatehouse
    expect(await (await fetch(url)).text()).toContain('<div id="root">')
    const root = await signIn({ url, username: 'root', password: PASSWORD })
    await giveQuota(root, 'root', 1_000_000)
    await createChannel(root, { name: 'fake', base_url: upstream.url, models: 'gpt-4o-mini' })
    const key = await createToken(root, { name: 'a', remain_quota: 0, unlimited_quota: true })
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: 'gpt-4o-mini',
        // Long enough to use the token counting thread.
        messages: [{ role: 'user', content: 'What is the answer? '.repeat(20_000) }],
      }),
    })
    expect(answer.status).toBe(200)
    expect(Number(answer.headers.get('x-gatehouse-quota'))).toBeGreaterThan(0)
    expect(await gatehouse.reconcile()).toContain('the ledger balances: 0 differences')
  } finally {
    await gatehouse.stop()
    await upstream.close()
  }
})

test('the gatehouse command prints the version of the package', () => {
  const command = process.platform === 'win32' ? '.bin/gatehouse.cmd' : '.bin/gatehouse'
  const options = { encoding: 'utf8', shell: process.platform === 'win32' } as const
  const { stdout } = spawnSync(installed(command), ['--version'], options)
  expect(stdout.trim()).toBe(manifest.version)
})

test('the package contains the licences of what it bundles', () => {
  const licences = readFileSync(installed('gatehouse/dist/THIRD-PARTY.txt'), 'utf8')
  for (const name of ['fastify', 'undici', 'react', '@mantine/core', 'gpt-tokenizer']) {
    expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'))
  }
  for (const data of ['common-passwords.txt', 'confusables.json', 'model-data.json']) {
    expect(licences).toContain(`${data} is derived from`)
  }
})

test('the unpacked package and its dependencies are small', () => {
  const files = globSync('**/*', { cwd: installed(''), withFileTypes: true })
  const sizes = files
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)).length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(UNPACKED_MAX)
})
