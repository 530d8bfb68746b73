import http from 'node:http'
import { text } from 'node:stream/consumers'
import { ConfigError, type Config } from '../config.ts'

/** Shorter than the timeout of the image's health check. */
const TIMEOUT_MS = 4000

/**
 * Checks whether the server with these settings on this machine accepts requests, for health checks
 * in an image without curl. Throws `ConfigError` if it does not.
 */
export async function health(config: Config): Promise<void> {
  const address = `http://${localHost(config.HOST)}:${config.PORT}${config.BASE_PATH}readyz`
  const { status, said } = await ask(address).catch(() => {
    throw new ConfigError(`${address}: no answer`)
  })
  if (status !== 200) throw new ConfigError(`${address}: ${status} ${said}`.trim())
  if (said !== 'ready') {
    throw new ConfigError(
      `${address}: the response is not from a server with these settings; check PORT and BASE_PATH`,
    )
  }
  process.stdout.write(`${said}\n`)
}

/** Returns the host for a local connection to a server that may listen on all addresses. */
function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Returns no text for a page, of another program or of the console below another path. */
async function ask(address: string): Promise<{ status: number | undefined; said: string }> {
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get(address, { signal: AbortSignal.timeout(TIMEOUT_MS) }, resolve).on('error', reject)
  })
  const said = await text(response)
  const isText = response.headers['content-type']?.startsWith('text/plain') === true
  return { status: response.statusCode, said: isText ? said : '' }
}
