import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { withoutTrailing } from '../../contract/text.ts'

/** Seconds for which browsers may cache the preflight. */
const PREFLIGHT_LIFE_SECONDS = 600
const METHODS = 'GET, POST, PUT, DELETE'
const READABLE_HEADERS = 'X-Total-Count, X-Oneapi-Request-Id, Content-Disposition'

/**
 * Allows consoles on the origins in `CONSOLE_ORIGINS` to call the management API with a session.
 * Other origins get no CORS headers, so their browsers block the responses.
 */
export function allowConsoles(web: FastifyInstance, app: Pick<App, 'ownOrigins'>): void {
  if (app.ownOrigins.size === 0) return
  web.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/api')) return
    reply.header('Vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !app.ownOrigins.has(origin)) return
    reply
      .header('Access-Control-Allow-Origin', origin)
      .header('Access-Control-Allow-Credentials', 'true')
      .header('Access-Control-Expose-Headers', READABLE_HEADERS)
    if (request.method !== 'OPTIONS') return
    await reply
      .header('Access-Control-Allow-Methods', METHODS)
      .header('Access-Control-Allow-Headers', 'Content-Type')
      .header('Access-Control-Max-Age', PREFLIGHT_LIFE_SECONDS)
      .code(204)
      .send()
  })
}

/**
 * Returns this server's address without a trailing slash: the configured one, else the one in the
 * request.
 */
export function ownAddress(
  app: Pick<App, 'options' | 'config' | 'isSecure'>,
  request: FastifyRequest,
): string {
  const configured = withoutTrailing(app.options.text('ServerAddress'), '/')
  if (configured !== '') return configured
  const scheme = app.isSecure(request.raw) ? 'https' : 'http'
  return `${scheme}://${request.host}${app.config.BASE_PATH.slice(0, -1)}`
}
