import cluster, { type Worker } from 'node:cluster'
import { setTimeout as passed } from 'node:timers/promises'
import type { Logger } from 'pino'
import { AggregatorRegistry, type Registry } from 'prom-client'

/**
 * Several server processes on one machine and one port. The supervisor, which is the process that
 * was started, only starts, replaces and stops workers and adds up their metrics. A worker is a
 * whole server. Workers share nothing but the listening port: like processes on several machines,
 * they meet in PostgreSQL.
 */

interface StopMessage {
  type: 'gatehouse:stop'
}
interface MetricsQuestion {
  type: 'gatehouse:metrics'
  question: number
}
interface MetricsAnswer extends MetricsQuestion {
  /** Null if a worker did not report in time. */
  text: string | null
}
type ToWorker = StopMessage | MetricsAnswer

/** Pause before a worker that ended is replaced; doubles with each failed start up to the maximum. */
const PAUSE_MS = 1000
const PAUSE_MAX_MS = 32_000

/**
 * Starts `count` workers and replaces those that end. The first one starts alone, because it may
 * have to create the database; if it cannot start, this process exits with its exit code. `SIGHUP`
 * replaces the workers one after another. Returns a function that stops all of them gracefully and
 * then ends this process.
 */
export function superviseWorkers(count: number, trace: Logger): (reason: string) => void {
  // Workers accept connections themselves: one that is handed over to a worker that ends at that
  // moment would be lost, and its client would wait forever.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // JSON, the default, would turn a metric that is infinite into null.
  cluster.setupPrimary({ serialization: 'advanced' })
  const metrics = new AggregatorRegistry()
  /** Workers that are stopping. */
  const retired = new WeakSet<Worker>()
  const now = { isStopping: false, isReplacing: false }

  /** Starts a worker. Returns it when it listens, or null if it ended before. */
  function start(): Promise<Worker | null> {
    const worker = cluster.fork()
    const { pid } = worker.process
    let isListening = false
    return new Promise((resolve) => {
      worker.once('listening', () => {
        isListening = true
        trace.info({ worker: pid }, 'worker started')
        resolve(worker)
      })
      worker.once('exit', (code, signal) => {
        if (now.isStopping) return endWithLast()
        if (retired.has(worker)) return trace.info({ worker: pid }, 'worker stopped')
        trace.error({ worker: pid, code, signal }, 'worker ended unexpectedly')
        if (isListening) void replaceLost()
        else resolve(null)
      })
      // Messages to a worker that is ending fail; its end is reported by `exit`.
      worker.on('error', (error) => trace.debug({ worker: pid, err: error }, 'worker messages'))
      worker.on('message', (message: { type?: string; question: number }) => {
        // The metrics of workers come this way too.
        if (message.type === 'gatehouse:metrics') void answer(worker, message.question)
      })
    })
  }

  async function replaceLost(): Promise<void> {
    for (let pauseMs = PAUSE_MS; !now.isStopping; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      await passed(pauseMs)
      if (now.isStopping || (await start()) !== null) return
    }
  }

  /** If a new worker cannot start, the old ones keep running. */
  async function replaceAll(): Promise<void> {
    if (now.isReplacing || now.isStopping) return
    now.isReplacing = true
    trace.info('replacing all workers')
    for (const old of workers().filter((worker) => !retired.has(worker))) {
      if (now.isStopping) break
      if ((await start()) === null) {
        trace.error('the new worker could not start; the others keep running')
        break
      }
      retire(old)
    }
    now.isReplacing = false
  }

  function retire(worker: Worker): void {
    retired.add(worker)
    send(worker, { type: 'gatehouse:stop' })
  }

  function endWithLast(): void {
    if (workers().length > 0) return
    trace.info('all workers stopped')
    process.exit(0)
  }

  async function answer(worker: Worker, question: number): Promise<void> {
    const text = await metrics.clusterMetrics().catch(() => null)
    send(worker, { type: 'gatehouse:metrics', question, text })
  }

  function stop(reason: string): void {
    if (now.isStopping) return
    now.isStopping = true
    trace.info({ signal: reason }, 'stopping all workers')
    for (const worker of workers()) retire(worker)
    endWithLast()
  }

  async function begin(): Promise<void> {
    // It has printed why it could not start.
    if ((await start()) === null) process.exit(1)
    for (let started = 1; started < count && !now.isStopping; started += 1) {
      if ((await start()) === null) void replaceLost()
    }
  }

  process.on('SIGHUP', () => void replaceAll())
  void begin()
  return stop
}

const workers = (): Worker[] =>
  Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)

/** Sends nothing to a worker that has just ended. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {})
}

/** This process is a worker. */
export const isWorker = (): boolean => cluster.isWorker

/** Lets the supervisor stop this worker. Node ends it when the supervisor is gone. */
export function stopWithSupervisor(stop: (reason: string) => void): void {
  process.on('message', ({ type }: ToWorker) => {
    if (type === 'gatehouse:stop') stop('the supervisor')
  })
}

/** Time limit in ms for the metrics of all workers; the supervisor itself gives up after 5 s. */
const METRICS_LIMIT_MS = 6000

/**
 * Returns a function that reports the metrics of all workers in Prometheus format: sums, unless a
 * metric names another aggregator. It rejects if a worker does not report in time.
 */
export function metricsOfAllWorkers(registry: Registry): () => Promise<string> {
  AggregatorRegistry.setRegistries([registry])
  // The constructor makes this process answer the supervisor's requests for metrics.
  void new AggregatorRegistry()
  let questions = 0
  return () => {
    questions += 1
    const question = questions
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const timer = setTimeout(() => reject(new Error(NO_METRICS)), METRICS_LIMIT_MS)
    const receive = (message: ToWorker): void => {
      if (message.type !== 'gatehouse:metrics' || message.question !== question) return
      if (message.text === null) reject(new Error(NO_METRICS))
      else resolve(message.text)
    }
    process.on('message', receive)
    process.send?.({ type: 'gatehouse:metrics', question } satisfies MetricsQuestion)
    return promise.finally(() => {
      clearTimeout(timer)
      process.off('message', receive)
    })
  }
}

const NO_METRICS = 'a worker did not report its metrics in time'
