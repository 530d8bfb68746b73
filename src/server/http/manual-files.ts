import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { errorText, languageOf } from '../../contract/errors.ts'
import type { App } from '../app.ts'
import { addressKey } from './client-address.ts'
import { retryAfter } from './rate-limit.ts'
import { manualPolicy, referencePolicy } from './security-headers.ts'

/** The path that the manual is built for (`base` in `docs/manual/.vitepress/config.ts`). */
const BUILT_BASE = '/docs/'
const ASSETS = 'assets/'
/** Hashed file names never change their content; others have no hash. */
const HASHED = /\.[\w-]{8}\.(?:lean\.)?(?:js|css|webp)$/
const ASSET_LIFE = 'public, max-age=31536000, immutable'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
  '.png': 'image/png',
}
/** Kinds of files of the build. */
const SERVED = /\.(?:css|html|ico|js|json|png|svg|txt|webp|woff2)$/
const IS_TEXT = /^\.(?:html|js|css|json)$/
/** The path that the manual was built for, where it stands in a text in quotes or brackets. */
const BASE_IN_TEXT = /(?<=["'`(])\/docs\//g

/** Whether the manual was built: the package contains it, a clone does after `npm run docs`. */
export const hasManual = (folder: string): boolean => fs.existsSync(path.join(folder, 'index.html'))

/** Serves the built manual at `/docs/` and the API reference at `/api/docs`. */
export function serveManual(server: FastifyInstance, app: App): void {
  // A check for dead links asks with HEAD.
  const options = { exposeHeadRoute: true }
  server.get('/docs', options, (request, reply) => redirectOrSend({ request, reply, app }))
  server.get('/docs/*', options, (request, reply) => sendManual({ request, reply, app }))
  server.get('/api/docs', options, (request, reply) => sendReference({ request, reply, app }))
}

interface Visit {
  request: FastifyRequest
  reply: FastifyReply
  app: App
}

async function redirectOrSend(visit: Visit): Promise<FastifyReply> {
  const { request, reply, app } = visit
  // The router ignores a slash at the end.
  if (request.url.split('?')[0]?.endsWith('/') === true) return sendManual(visit)
  return reply.redirect(`${app.config.BASE_PATH}docs/`, 301)
}

async function sendManual(visit: Visit): Promise<FastifyReply> {
  const { request, reply, app } = visit
  const folder = app.manualFolder
  if (!hasManual(folder)) return refuse(visit, 'manual_missing')
  const name = (request.url.split('?')[0] ?? '').slice(BUILT_BASE.length)
  const file = fileOf(folder, name)
  const isPage = file === null || file.endsWith('.html')
  if (isPage && !(await mayVisit(visit))) return reply
  reply.header('Content-Security-Policy', manualPolicy)
  if (file === null) reply.code(404)
  const shown = file ?? '404.html'
  const extension = path.extname(shown)
  const isHashed = shown.startsWith(ASSETS) && HASHED.test(shown)
  const content = await fs.promises.readFile(path.join(folder, shown))
  reply
    .header('Cache-Control', isHashed ? ASSET_LIFE : 'no-cache')
    .type(TYPES[extension] ?? 'application/octet-stream')
  const { BASE_PATH } = app.config
  if (BASE_PATH === '/' || !IS_TEXT.test(extension)) return reply.send(content)
  return reply.send(content.toString().replaceAll(BASE_IN_TEXT, `${BASE_PATH}docs/`))
}

/** The file of the built manual that a path names, relative to its folder, or null. */
function fileOf(folder: string, name: string): string | null {
  const file = name === '' || name.endsWith('/') ? `${name}index.html` : name
  if (!/^[\w@./-]+$/.test(file) || file.includes('..')) return null
  const names = path.extname(file) === '' ? [file, `${file}.html`] : [file]
  const isFile = (one: string) =>
    SERVED.test(one) &&
    fs.statSync(path.join(folder, one), { throwIfNoEntry: false })?.isFile() === true
  return names.find(isFile) ?? null
}

/** A page counts against the limit of pages; its files do not. */
async function mayVisit({ request, reply, app }: Visit): Promise<boolean> {
  const visitor = addressKey(app.addressOf(request.raw))
  if (await app.rateLimits.web.take(visitor)) return true
  reply
    .code(429)
    .header('Retry-After', await retryAfter(app.rateLimits.web, visitor))
    .header('Cache-Control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send(errorText('too_many_pages', languageOf(request.headers['accept-language'])))
  return false
}

function refuse({ request, reply }: Visit, code: 'manual_missing'): FastifyReply {
  return reply
    .code(404)
    .header('Cache-Control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send(errorText(code, languageOf(request.headers['accept-language'])))
}

/** The page of the API reference. Redoc puts the nonce on the styles that it makes. */
const REFERENCE = (base: string, nonce: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API · Gatehouse</title>
<link rel="icon" href="${base}docs/logo.png">
<link rel="stylesheet" href="${base}docs/assets/reference.css">
</head>
<body>
<div id="reference" data-description="${base}api/openapi.json"></div>
<script nonce="${nonce}" src="${base}docs/assets/redoc.js"></script>
<script nonce="${nonce}" src="${base}docs/assets/reference.js"></script>
</body>
</html>
`

async function sendReference(visit: Visit): Promise<FastifyReply> {
  if (!hasManual(visit.app.manualFolder)) return refuse(visit, 'manual_missing')
  if (!(await mayVisit(visit))) return visit.reply
  const nonce = randomBytes(16).toString('base64')
  return visit.reply
    .header('Content-Security-Policy', referencePolicy(nonce))
    .header('Cache-Control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(REFERENCE(visit.app.config.BASE_PATH, nonce))
}
