import { Worker } from 'node:worker_threads'
import type { CountCall, CountQuestion, CountReply } from './count-worker.ts'

/**
 * Maximum bytes of pending requests; beyond that the thread rejects requests, and callers use
 * estimates.
 */
export const WAITING_BYTES_MAX = 32 * 1024 * 1024

interface Waiting {
  resolve: (tokens: number) => void
  reject: (error: Error) => void
  byteCount: number
}

/**
 * The counting thread, seen from the relay. It starts with the first request, does not keep the
 * process alive while no request is pending, and is restarted after it died; requests that were
 * pending then are rejected.
 */
export class CountThread {
  private worker: Worker | null = null
  private readonly waiting = new Map<number, Waiting>()
  private waitingBytes = 0
  private lastId = 0
  private isClosed = false
  private readonly script: URL

  constructor(script = new URL('./count-worker.ts', import.meta.url)) {
    this.script = script
  }

  /**
   * `byteCount`: approximate size of the request. Buffers in `moved` are transferred, not copied.
   */
  ask(question: CountQuestion, byteCount: number, moved: ArrayBuffer[] = []): Promise<number> {
    if (this.isClosed) return Promise.reject(new Error('counting is closed'))
    if (this.waitingBytes + byteCount > WAITING_BYTES_MAX) {
      return Promise.reject(new Error('too much is waiting to be counted'))
    }
    const worker = (this.worker ??= this.start())
    const id = ++this.lastId
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    this.waiting.set(id, { resolve, reject, byteCount })
    this.waitingBytes += byteCount
    worker.ref()
    const call: CountCall = { id, question }
    worker.postMessage(call, moved)
    return promise
  }

  async close(): Promise<void> {
    this.isClosed = true
    const { worker } = this
    this.abandon(new Error('counting is closed'))
    await worker?.terminate()
  }

  private start(): Worker {
    // Limits garbage of the young generation: 133 instead of 167 MiB.
    const worker = new Worker(this.script, { resourceLimits: { maxYoungGenerationSizeMb: 8 } })
    worker.unref()
    worker.on('message', (reply: CountReply) => {
      const asked = this.waiting.get(reply.id)
      if (asked === undefined) return
      this.waiting.delete(reply.id)
      this.waitingBytes -= asked.byteCount
      if (this.waiting.size === 0) worker.unref()
      if ('failure' in reply) asked.reject(new Error(reply.failure))
      else asked.resolve(reply.tokens)
    })
    worker.on('error', (error: unknown) => {
      const cause = error instanceof Error ? error : new Error(String(error))
      if (this.worker === worker) this.abandon(cause)
    })
    worker.on('exit', () => {
      if (this.worker === worker) this.abandon(new Error('the counting thread ended'))
    })
    return worker
  }

  private abandon(error: Error): void {
    this.worker = null
    for (const { reject } of this.waiting.values()) reject(error)
    this.waiting.clear()
    this.waitingBytes = 0
  }
}
