import type { Egress } from '../../egress/egress.ts'
import {
  callUpstream,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamListener,
  type UpstreamRequest,
  type Via,
} from './upstream-call.ts'

/**
 * A call that takes several requests: one that starts the job, some that poll it, and one that
 * fetches or streams the result. A provider defines the sequence as a walk; the listener sees one
 * call.
 *
 * Any failure or abort fails the call: the walk receives an exception and needs no checks.
 */
export interface Steps {
  /** Returns a whole response with any status. Throws if there is no response. */
  fetch(request: UpstreamRequest): Promise<StepAnswer>
  /** Throws if the call is aborted meanwhile. */
  wait(ms: number): Promise<void>
  /**
   * Passes a response on as it arrives. It ends at its end, or as soon as `isLast` returns true for
   * a chunk; data after that is not read.
   */
  pass(request: UpstreamRequest, isLast: (chunk: Buffer) => boolean): Promise<void>
  /** Appends data to the response that is passed on. */
  add(bytes: Buffer): void
  /** Sends a request without waiting for its response. */
  tell(request: UpstreamRequest): void
  /** The listener has aborted the call. */
  readonly isAborted: boolean
}

export interface StepAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** The steps of a call. Returns the call's response; null if it has been passed on. */
export type Walk = (steps: Steps, request: UpstreamRequest) => Promise<StepAnswer | null>

/** Ends a walk with a failure. */
export class StepFailed extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure) {
    super(`a step failed: ${failure}`)
    this.failure = failure
  }
}

/** Maximum bytes of one step's response; images are fetched this way. */
const STEP_BYTES_MAX = 64 * 1024 * 1024

/** Returns a `via` that performs the call by this walk. */
export const inSteps =
  (walk: Walk): Via =>
  (egress, request, listener) => {
    const steps = new StepsUnderWay(egress, listener)
    walk(steps, request)
      .then((answer) => steps.end(answer))
      .catch((error: unknown) => steps.fail(error))
    return steps
  }

class StepsUnderWay implements Steps, UpstreamCall {
  isAborted = false

  private readonly egress: Egress
  private readonly listener: UpstreamListener
  private current: UpstreamCall | null = null
  /** Ends the current wait. */
  private wake: (() => void) | null = null
  /** Bytes of all whole responses so far. */
  private held = 0
  private hasHead = false
  /** A response has arrived: the upstream is working on the call. */
  private hasBegun = false
  /** The listener has been called with the end of the call. */
  private isOver = false

  constructor(egress: Egress, listener: UpstreamListener) {
    this.egress = egress
    this.listener = listener
  }

  fetch(request: UpstreamRequest): Promise<StepAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<StepAnswer>()
    const chunks: Buffer[] = []
    let head: Omit<StepAnswer, 'body'> = { status: 0, headers: {} }
    let length = 0
    this.call(request, {
      onHead: (status, headers) => {
        head = { status, headers }
      },
      onData: (chunk) => {
        chunks.push(chunk)
        length += chunk.length
        this.held += chunk.length
        this.listener.onHeld?.(this.held)
        if (length > STEP_BYTES_MAX) {
          reject(new StepFailed('cut'))
          this.current?.abort()
        }
      },
      onEnd: () => {
        this.hasBegun = true
        resolve({ ...head, body: Buffer.concat(chunks) })
      },
      onFailure: (failure) => reject(new StepFailed(failure)),
    })
    return promise
  }

  wait(ms: number): Promise<void> {
    this.current = null
    if (this.isAborted) return Promise.reject(new StepFailed('aborted'))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    const wake = (): void => {
      clearTimeout(timer)
      reject(new StepFailed('aborted'))
    }
    this.wake = wake
    return promise.finally(() => {
      this.wake = null
    })
  }

  pass(request: UpstreamRequest, isLast: (chunk: Buffer) => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let isOver = false
    this.call(request, {
      onHead: (status, headers) => {
        this.hasHead = true
        this.listener.onHead(status, headers)
      },
      onData: (chunk) => {
        if (isOver) return
        isOver = isLast(chunk)
        this.listener.onData(chunk)
        if (!isOver) return
        resolve()
        this.current?.abort()
      },
      onEnd: resolve,
      onFailure: (failure) => reject(new StepFailed(failure)),
    })
    return promise
  }

  add(bytes: Buffer): void {
    if (!this.isAborted) this.listener.onData(bytes)
  }

  tell(request: UpstreamRequest): void {
    let length = 0
    const told = callUpstream(this.egress, request, {
      ...UNHEARD,
      onData(chunk) {
        length += chunk.length
        if (length > UNHEARD_BYTES_MAX) told.abort()
      },
    })
  }

  end(answer: StepAnswer | null): void {
    if (this.isAborted) {
      this.fail(new StepFailed('aborted'))
      return
    }
    if (answer !== null) {
      this.hasHead = true
      this.listener.onHead(answer.status, answer.headers)
      this.listener.onData(answer.body)
      // The listener may have aborted the call in its callback.
      if (this.isAborted) {
        this.fail(new StepFailed('aborted'))
        return
      }
    }
    this.isOver = true
    this.listener.onEnd()
  }

  fail(error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    const cause = error instanceof Error ? error : new Error(String(error))
    this.listener.onFailure(this.failureOf(cause), cause)
  }

  abort(): void {
    if (this.isAborted) return
    this.isAborted = true
    this.wake?.()
    this.current?.abort()
  }

  pause(): void {
    this.current?.pause()
  }

  resume(): void {
    this.current?.resume()
  }

  private call(request: UpstreamRequest, listener: UpstreamListener): void {
    this.current = callUpstream(this.egress, request, listener)
    if (this.isAborted) this.current.abort()
  }

  /** Returns the failure of the whole call for a failed step. */
  private failureOf(error: Error): UpstreamFailure {
    const failure = error instanceof StepFailed ? error.failure : 'unreachable'
    if (this.isAborted) return this.hasBegun || failure !== 'unsent' ? 'aborted' : 'unsent'
    if (failure === 'timeout') return failure
    // An upstream that has become unreachable has already been working on the call.
    const isGone = failure === 'unreachable' || failure === 'garbled'
    const isBrokenOff = this.hasHead || (this.hasBegun && isGone)
    return isBrokenOff ? 'cut' : failure
  }
}

/** Bytes read of a response that is not needed; a connection with a longer one is closed. */
const UNHEARD_BYTES_MAX = 64 * 1024

const UNHEARD: UpstreamListener = {
  onHead() {},
  onData() {},
  onEnd() {},
  onFailure() {},
}
