import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { inTime } from '../db/outage.ts'
import { FileGone } from '../db/sqlite-file.ts'
import { sameText } from '../secrets.ts'
import { isDirect } from './host-check.ts'

/** Monitors use either method, some through a cache, and need the current state. */
const FOR_MONITORS = {
  exposeHeadRoute: true,
  onRequest: async (_request: FastifyRequest, reply: FastifyReply) => {
    reply.header('Cache-Control', 'no-store')
  },
}

export interface MetricsText {
  contentType: string
  /** Rejects if another worker of this server does not report. */
  text(): Promise<string>
}

/** Endpoints for operators: liveness, readiness, metrics. */
export function mountOperations(
  server: FastifyInstance,
  app: App,
  { metrics, isStopping }: { metrics: MetricsText; isStopping: () => boolean },
): void {
  server.get('/healthz', FOR_MONITORS, async (_request, reply) =>
    reply.type('text/plain').send('ok'),
  )
  server.get('/readyz', FOR_MONITORS, async (_request, reply) => {
    reply.type('text/plain')
    if (isStopping()) return reply.code(503).send('stopping')
    try {
      await inTime(app.database.check())
      return reply.send('ready')
    } catch (error) {
      const seen = error instanceof FileGone ? error.message : 'the database does not respond'
      app.trace.error({ err: error }, seen)
      return reply.code(503).send(seen)
    }
  })
  server.get('/metrics', FOR_MONITORS, async ({ raw, headers }, reply) => {
    const token = app.config.METRICS_TOKEN
    const bearer = (headers.authorization ?? '').replace(/^Bearer /, '')
    const allowed = isDirect(raw) || (token !== undefined && sameText(bearer, token))
    if (!allowed)
      return reply.code(403).type('text/plain').send('METRICS_TOKEN is required from this address')
    try {
      return await reply.type(metrics.contentType).send(await metrics.text())
    } catch (error) {
      app.trace.error({ err: error }, 'metrics')
      return reply.code(503).type('text/plain').send('a worker did not report its metrics in time')
    }
  })
}
