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
    // The windows of external sign-in talk to the page that opened them.
    crossOriginOpenerPolicy: { policy: 'same-origin-allow-popups' },
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: false,
  })
  // Neighbours under the same domain may have no TLS, so it says nothing about sub-domains.
  const transport = `max-age=${app.config.HSTS_MAX_AGE}`
  web.addHook('onRequest', async (request, reply) => {
    reply.header('Permissions-Policy', 'camera=(), microphone=(), geolocation=(), payment=()')
    if (app.isSecure(request.raw)) reply.header('Strict-Transport-Security', transport)
  })
}

/** What a browser is told that asks whether a page of another site may send a key. */
export const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Methods': 'GET,POST,PUT,DELETE,OPTIONS',
  // Browsers do not count this one among the others that the star allows.
  'Access-Control-Allow-Headers': '*,Authorization',
  'Access-Control-Max-Age': '43200',
}

/** Answers of the API are data; whatever opens one as a page may run and load nothing. */
export const API_POLICY = "default-src 'none'; frame-ancestors 'none'"

/** What an upstream says may not even act in the console's name. */
export const RELAY_POLICY = `${API_POLICY}; sandbox`

/**
 * What the console's page may do. Styles carry the nonce because Mantine writes `<style>` elements;
 * frames show what the operator configured as home, about or chat page. `others` names origins that
 * the operator's settings bring in, and nothing else.
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
