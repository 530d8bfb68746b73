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
const NONCE_PLACE = '%GATEHOUSE_NONCE%'
const BASE_PLACE = '%GATEHOUSE_BASE%'
/** Hashed file names never change their content. */
const ASSET_LIFE = 'public, max-age=31536000, immutable'
/** Others (logo, favicon): an hour. */
const FILE_LIFE = 'public, max-age=3600'

/** Characters of a path that its refusal repeats. */
const SHOWN_PATH_MAX = 200

/**
 * The wire's answer for a path of the API or the relay that does not exist, or not with this
 * method. What was asked for is named without its query, where keys may stand. `address`: where the
 * API is, for who looks for it elsewhere.
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

/** Whatever begins like the API or the relay, but for a base path that does and lacks its slash. */
const isApiPath = (url: string, basePath: string): boolean =>
  /^\/(?:api|v1)/.test(url) && `${url}/` !== basePath

const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'] as const

/**
 * Whether a program is looking for the API: it sends a key, or a JSON object whatever its type is
 * said to be. No person and no console of the family asks for a page so.
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

/** Proxies that sign people in put a header of their own on everything that a browser asks for. */
const wantsPage = ({ accept = '' }: IncomingHttpHeaders): boolean => accept.includes('text/html')

/** Bytes of a body that are looked at. */
const BEGINNING_BYTES = 100

/** Said to who asks for a trace. Any other method gets the page, as with One API. */
const PAGE_METHODS = 'GET, HEAD'

/** Serves the built console; every unknown path that is not an API's is its page. */
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
      // Whole or not at all: nobody reads a part of a page's file.
      acceptRanges: false,
      // Pages that no route declares pass by the compression of answers.
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
    // One look at a page takes thirty of them, from an office of one address all at once.
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
    // A file of another build: the page in its place would only confuse whoever asked for a script.
    if (url.startsWith(`/${ASSETS}`))
      return reply.code(404).header('Cache-Control', 'no-store').send('')
    return sendPage({ request, reply, app }, index)
  })
}

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' }

/**
 * One API answers a browser that asks for leave on every path. What `/api` itself answers stays
 * unreadable for other sites, and no cookie goes along.
 */
const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

/** The page that loads everything else, read again when a new build has replaced it. */
class ConsolePage {
  private readonly file: string
  private readMs = 0
  private content = ''

  constructor(folder: string) {
    this.file = path.join(folder, 'index.html')
  }

  /** Null while there is none. */
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

/** The wire's empty answer; a person who looks at a page is told what to do. */
function refuseVisitor(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.code(429).header('Cache-Control', 'no-store')
  if (request.headers.accept?.includes('text/html') !== true) return reply.send('')
  const language = languageOf(request.headers['accept-language'])
  return reply.type('text/plain; charset=utf-8').send(errorText('too_many_pages', language))
}

/** The file of the built console that a path names, relative to its folder, or null. */
function fileOf(folder: string, url: string): string | null {
  if (url === '/' || url === '/index.html' || !/^[\w./-]+$/.test(url) || url.includes('..'))
    return null
  const file = path.join(folder, url)
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true ? url.slice(1) : null
}

function sendFile(reply: FastifyReply, file: string): FastifyReply {
  const isHashed = file.startsWith(ASSETS)
  reply.header('Cache-Control', isHashed ? ASSET_LIFE : FILE_LIFE)
  return reply.sendFile(file)
}

/** The page, with a nonce of its own; packed here, because no route declares it. */
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

/** Not with a weight of 0, which says that it is not taken. */
const TAKES_GZIP = /(?:^|,)\s*gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/i

/** The human check's script while it is on, and pictures of the operator that come without TLS. */
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
