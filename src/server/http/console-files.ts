import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { errorText, languageOf } from '../../contract/errors.ts'
import type { App } from '../app.ts'
import { addressKey } from './client-address.ts'
import { ownAddress } from './console-origins.ts'
import { retryAfter } from './rate-limit.ts'
import { API_POLICY, consolePolicy, PREFLIGHT_HEADERS } from './security-headers.ts'

const ASSETS = 'assets/'
/** Kinds of files of the build. */
const SERVED = /\.(?:css|ico|js|png|svg|txt|woff2)$/
/** A path that names a file; no page of the console does. */
const FILE_PATH = /\.[a-z\d]+$/i
const NONCE_PLACE = '%GATEHOUSE_NONCE%'
const BASE_PLACE = '%GATEHOUSE_BASE%'
/** For files with hashed names, whose content never changes. */
const ASSET_LIFE = 'public, max-age=31536000, immutable'
/** For other files (logo, favicon): one hour. */
const FILE_LIFE = 'public, max-age=3600'

/** Maximum number of characters of the path in an error. */
const SHOWN_PATH_MAX = 200

/**
 * Returns the wire's response for an unknown path, or method, of the API or the relay. The path is
 * shown without its query, which may contain keys. `address`: base address of the API, for requests
 * to a wrong one.
 */
export function unknownPath(
  { method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  address?: string,
): object {
  const asked = { method, path: (url.split('?')[0] ?? '').slice(0, SHOWN_PATH_MAX) }
  const language = languageOf(headers['accept-language'])
  const message =
    address === undefined
      ? errorText('path_unknown', language, asked)
      : errorText('path_elsewhere', language, { ...asked, address })
  return { error: { message, type: 'invalid_request_error', param: '', code: '' } }
}

/**
 * Whether a path belongs to the API or the relay. A base path with such a beginning and without its
 * trailing slash does not.
 */
const isApiPath = (url: string, basePath: string): boolean =>
  /^\/(?:api|v1)/.test(url) && `${url}/` !== basePath

const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'] as const

/**
 * Whether a program tries to call the API: the request has a key or a JSON object as body, with any
 * content type. Neither browsers nor consoles for One API request a page like this.
 */
function isMisledCall({ method, headers, body }: FastifyRequest): boolean {
  const hasKey = KEY_HEADERS.some((name) => headers[name] !== undefined)
  if (method === 'GET') return hasKey && !wantsPage(headers)
  if (method !== 'POST') return false
  return (
    hasKey ||
    (Buffer.isBuffer(body) && body.toString('utf8', 0, BEGINNING_BYTES).trimStart().startsWith('{'))
  )
}

/** Authenticating proxies add such headers to every request of a browser. */
const wantsPage = ({ accept = '' }: IncomingHttpHeaders): boolean => accept.includes('text/html')

/** Number of body bytes that are checked. */
const BEGINNING_BYTES = 100

/** Sent as `Allow` for TRACE. Any other method gets the page, as with One API. */
const PAGE_METHODS = 'GET, HEAD'

/**
 * Serves the built console. Every unknown path outside the API gets its page, unless it names a
 * file: a cache in front might take a page for a file that may be stored.
 */
export async function serveConsole(
  server: FastifyInstance,
  app: App,
  folder: string,
): Promise<void> {
  const page = new ConsolePage(folder)
  if (page.text() !== null) {
    await server.register(fastifyStatic, {
      root: folder,
      serve: false,
      cacheControl: false,
      // Range requests are not needed for the files of a page.
      acceptRanges: false,
      // Files of undeclared routes are not covered by the response compression.
      preCompressed: true,
    })
  }
  server.setNotFoundHandler(async (request, reply) => {
    if (isPreflight(request)) {
      return reply
        .headers({ ...ANY_ORIGIN, ...PREFLIGHT_HEADERS })
        .code(204)
        .send()
    }
    if (request.method === 'OPTIONS' && request.url === '*') return reply.code(204).send()
    const url = request.url.split('?')[0] ?? '/'
    if (isApiPath(url, app.config.BASE_PATH)) {
      reply.header('Cache-Control', 'no-store').header('Content-Security-Policy', API_POLICY)
      return reply.code(404).send(unknownPath(request))
    }
    if (request.method === 'TRACE') return reply.code(405).header('Allow', PAGE_METHODS).send('')
    const file = fileOf(folder, url)
    if (file === null && isMisledCall(request)) {
      reply.headers(ANY_ORIGIN).header('Cache-Control', 'no-store')
      return reply.code(404).send(unknownPath(request, `${ownAddress(app, request)}/v1`))
    }
    // Assets are not rate limited: one page view loads thirty of them, and an office may share one
    // address.
    if (file?.startsWith(ASSETS) === true) return sendFile(reply, file)
    const visitor = addressKey(app.addressOf(request.raw))
    if (!(await app.rateLimits.web.take(visitor))) {
      reply.header('Retry-After', await retryAfter(app.rateLimits.web, visitor))
      return refuseVisitor(request, reply)
    }
    const index = page.text()
    if (index === null) {
      return reply
        .code(503)
        .type('text/plain')
        .send('The console has not been built: npm run build')
    }
    if (file !== null) return sendFile(reply, file)
    // Also a file of another build: a page in place of a script would be confusing.
    if (url.startsWith(`/${ASSETS}`) || (FILE_PATH.test(url) && url !== '/index.html'))
      return reply.code(404).header('Cache-Control', 'no-store').send('')
    return sendPage({ request, reply, app }, index)
  })
}

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' }

/**
 * One API allows CORS preflights on every path. Responses of `/api` itself stay unreadable for
 * other sites, and no cookies are sent.
 */
const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

/** The console's page, reloaded when a new build replaces it. */
class ConsolePage {
  private readonly file: string
  private readMs = 0
  private content = ''

  constructor(folder: string) {
    this.file = path.join(folder, 'index.html')
  }

  /** Returns null if the console is not built. */
  text(): string | null {
    const changedMs = fs.statSync(this.file, { throwIfNoEntry: false })?.mtimeMs
    if (changedMs === undefined) return null
    if (changedMs !== this.readMs) {
      this.content = fs.readFileSync(this.file, 'utf8')
      this.readMs = changedMs
    }
    return this.content
  }
}

/** The wire's empty response; for a browser, a text that states what to do. */
function refuseVisitor(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.code(429).header('Cache-Control', 'no-store')
  if (request.headers.accept?.includes('text/html') !== true) return reply.send('')
  const language = languageOf(request.headers['accept-language'])
  return reply.type('text/plain; charset=utf-8').send(errorText('too_many_pages', language))
}

/** Returns the console file for a path, relative to the folder, or null. */
function fileOf(folder: string, url: string): string | null {
  if (!SERVED.test(url) || !/^[\w./-]+$/.test(url) || url.includes('..')) return null
  const file = path.join(folder, url)
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true ? url.slice(1) : null
}

function sendFile(reply: FastifyReply, file: string): FastifyReply {
  const isHashed = file.startsWith(ASSETS)
  reply.header('Cache-Control', isHashed ? ASSET_LIFE : FILE_LIFE)
  return reply.sendFile(file)
}

/**
 * Sends the page with its own nonce. Compresses it here, because the response compression does not
 * cover undeclared routes.
 */
function sendPage(
  { request, reply, app }: { request: FastifyRequest; reply: FastifyReply; app: App },
  index: string,
): FastifyReply {
  const nonce = randomBytes(16).toString('base64')
  const page = index.replaceAll(NONCE_PLACE, nonce).replaceAll(BASE_PLACE, app.config.BASE_PATH)
  const isPacked = TAKES_GZIP.test(request.headers['accept-encoding'] ?? '')
  reply
    .code(200)
    .header('Cache-Control', 'no-cache')
    .header('Content-Security-Policy', consolePolicy(nonce, configuredOrigins(app)))
    .header('Vary', 'Accept-Encoding')
    .type('text/html; charset=utf-8')
  if (isPacked) reply.header('Content-Encoding', 'gzip')
  return reply.send(isPacked ? gzipSync(page) : page)
}

/** Does not match a weight of 0, which means not accepted. */
const TAKES_GZIP = /(?:^|,)\s*gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/i

/**
 * Origins for the policy: the CAPTCHA script while the human check is enabled, and configured
 * images without TLS.
 */
function configuredOrigins({ config, options }: App): { scripts: string[]; images: string[] } {
  const pictures = [options.text('Logo'), options.text('WeChatAccountQRCodeImageURL')]
  return {
    scripts: options.flag('TurnstileCheckEnabled')
      ? [new URL(config.TURNSTILE_BASE_URL).origin]
      : [],
    images: pictures
      .filter((address) => address.startsWith('http://') && URL.canParse(address))
      .map((address) => new URL(address).origin),
  }
}
