import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'

/**
 * Sets the security headers of every response that is not relayed. Content policies differ by
 * response and are set there.
 */
export async function secureHeaders(
  web: FastifyInstance,
  app: Pick<App, 'config' | 'isSecure'>,
): Promise<void> {
  await web.register(fastifyHelmet, {
    contentSecurityPolicy: false,
    // Pop-ups of external sign-in communicate with the page that opened them.
    crossOriginOpenerPolicy: { policy: 'same-origin-allow-popups' },
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: false,
  })
  // Does not include subdomains, because others under the same domain may have no TLS.
  const transport = `max-age=${app.config.HSTS_MAX_AGE}`
  web.addHook('onRequest', async (request, reply) => {
    reply.header('Permissions-Policy', 'camera=(), microphone=(), geolocation=(), payment=()')
    if (app.isSecure(request.raw)) reply.header('Strict-Transport-Security', transport)
  })
}

/** Response headers of a CORS preflight. */
export const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Methods': 'GET,POST,PUT,DELETE,OPTIONS',
  // The wildcard does not cover this header in browsers.
  'Access-Control-Allow-Headers': '*,Authorization',
  'Access-Control-Max-Age': '43200',
}

/** API responses are data; opened as a page they may run and load nothing. */
export const API_POLICY = "default-src 'none'; frame-ancestors 'none'"

/** Content of an upstream must not act in the console's origin. */
export const RELAY_POLICY = `${API_POLICY}; sandbox`

/**
 * Policy of the console's page. Styles carry the nonce because Mantine writes `<style>` elements.
 * Frames show the page that the operator configured as home, about or chat page. `others` are the
 * origins from the operator's settings, and no more.
 */
export const consolePolicy = (
  nonce: string,
  others: { scripts: readonly string[]; images: readonly string[] },
): string =>
  [
    "default-src 'self'",
    [`script-src 'self' 'nonce-${nonce}'`, ...others.scripts].join(' '),
    `style-src 'self' 'nonce-${nonce}'`,
    ["img-src 'self' https: data:", ...others.images].join(' '),
    "connect-src 'self'",
    "font-src 'self'",
    'frame-src https: http://localhost:* http://127.0.0.1:*',
    "object-src 'none'",
    "base-uri 'self'",
    "frame-ancestors 'self'",
    "form-action 'self'",
  ].join('; ')
