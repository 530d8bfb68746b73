/**
 * `npm run dev`: runs the server, restarted on file changes, and the console on Vite with hot
 * reload, which proxies the server's paths. Ctrl-C ends both. Ports: `PORT` (3000) for the server,
 * `DEV_PORT` (5173) for the console, which is the one to open.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'vite'
import { RELAY_PREFIXES } from '../src/contract/relay-paths.ts'

/** Paths of the server; all others are pages or modules of the console. */
const SERVER_PREFIXES = ['/api', '/metrics', '/healthz', '/readyz', ...RELAY_PREFIXES]
const SERVER_PATHS = `^(${SERVER_PREFIXES.join('|')})([/?]|$)`

/** Maximum wait for a server with open streams to stop, in milliseconds. */
const STOP_TIMEOUT_MS = 3_000

const serverPort = process.env.PORT ?? '3000'
const consolePort = Number(process.env.DEV_PORT ?? 5173)

const server = spawn(process.execPath, ['--watch', 'src/server/gatehouse.js', 'serve'], {
  env: { ...process.env, PORT: serverPort },
  stdio: 'inherit',
})
server.once('exit', (code) => process.exit(code ?? 0))

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.kill('SIGTERM')
    setTimeout(() => server.kill('SIGKILL'), STOP_TIMEOUT_MS).unref()
  })
}

if (existsSync('vite.config.ts')) {
  const vite = await createServer({
    server: {
      port: consolePort,
      strictPort: true,
      // The server checks the Host header against the address in the browser, so it stays
      // unchanged.
      proxy: {
        [SERVER_PATHS]: { target: `http://127.0.0.1:${serverPort}`, changeOrigin: false },
      },
    },
  })
  await vite.listen()
  vite.printUrls()
}
