import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { App } from '../app.ts'
import { ping } from '../db/setting-store.ts'
import { sameText } from '../secrets.ts'

const LOOPBACK = /^(127\.|::1$)/

/** For those who run the server: liveness, readiness, metrics. */
export function mountOperations(
  server: FastifyInstance,
  app: App,
  { metrics, isStopping }: { metrics: Registry; isStopping: () => boolean },
): void {
  server.get('/healthz', async (_request, reply) => reply.type('text/plain').send('ok'))
  server.get('/readyz', async (_request, reply) => {
    reply.type('text/plain')
    if (isStopping()) return reply.code(503).send('stopping')
    try {
      await ping(app.database.read)
      return reply.send('ready')
    } catch (error) {
      app.trace.error({ err: error }, 'the database does not answer')
      return reply.code(503).send('the database does not answer')
    }
  })
  server.get('/metrics', async (request, reply) => {
    const token = app.config.METRICS_TOKEN
    const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    const allowed =
      LOOPBACK.test(app.addressOf(request.raw)) || (token !== undefined && sameText(bearer, token))
    if (!allowed)
      return reply.code(403).type('text/plain').send('METRICS_TOKEN is needed from here')
    return reply.type(metrics.contentType).send(await metrics.metrics())
  })
}
