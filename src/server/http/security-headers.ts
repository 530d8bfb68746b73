import type { FastifyReply } from 'fastify'

/** Headers of every answer that is not relayed. */
export function securityHeaders(reply: FastifyReply): void {
  reply.headers({
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'SAMEORIGIN',
    'Cross-Origin-Opener-Policy': 'same-origin-allow-popups',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=(), payment=()',
    'X-Permitted-Cross-Domain-Policies': 'none',
  })
}

/** Answers of the API are data; whatever opens one as a page may run and load nothing. */
export const API_POLICY = "default-src 'none'; frame-ancestors 'none'"

/**
 * What the console's page may do. Styles carry the nonce because Mantine writes `<style>` elements;
 * frames show what the operator configured as home, about or chat page.
 */
export const consolePolicy = (nonce: string): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' https: data:",
    "connect-src 'self'",
    "font-src 'self'",
    'frame-src https: http://localhost:* http://127.0.0.1:*',
    "object-src 'none'",
    "base-uri 'self'",
    "frame-ancestors 'self'",
    "form-action 'self'",
  ].join('; ')
