import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isTrustedProxy, type TrustedProxies } from './client-address.ts'
import type { TimeLimits } from './time-limits.ts'
import { dropRest } from './unread-body.ts'

export interface ConnectionSettings {
  times: TimeLimits
  /** Maximum number of open connections. */
  connectionsMax: number
  /** Size of the largest allowed body in bytes. */
  bodyBytesMax: number
  trusted: TrustedProxies
  /** Called for each connection refused because too many are open. */
  onRefused(): void
}

/** Figures for `/metrics`. */
export interface ConnectionCounts {
  open: number
  max: number
  refused: number
}

/**
 * Maximum number of pipelined requests per connection. Clients and proxies wait for a response
 * before the next request. Thousands of requests fit into one packet, and all would be processed
 * concurrently.
 */
const PIPELINED_MAX = 16

const IDLE_BUFFER_MS = 1000

interface ConnectionState {
  unanswered: number
  /** Whether the longer idle timeout of proxies was applied since the last request. */
  isExtended: boolean
}

/**
 * Limits the listener's connections: their number, and how long each may stay open without
 * progress. A connection is closed when it is idle, when its client does not read the response, or
 * when its client does not finish the body of a request that already has a response.
 */
export class Connections {
  private readonly settings: ConnectionSettings
  private readonly states = new WeakMap<Socket, ConnectionState>()
  private readonly open = new Set<Socket>()
  /** Connections that have not sent a request yet. */
  readonly unused = new Set<Socket>()
  private refused = 0
  private isEnding = false

  constructor(settings: ConnectionSettings) {
    this.settings = settings
  }

  /** Returns a server with these limits that passes requests to `listener`. */
  serve(listener: http.RequestListener): http.Server {
    const { times, connectionsMax, onRefused } = this.settings
    const checks = { connectionsCheckingInterval: times.checkMs }
    const server = http.createServer(checks, (request, response) => {
      if (this.begin(request, response)) listener(request, response)
    })
    server.headersTimeout = times.headMs
    server.keepAliveTimeout = times.idleMs
    // A client that honors the timeout in `Keep-Alive` may send a request just before its end.
    server.keepAliveTimeoutBuffer = Math.min(times.idleMs, IDLE_BUFFER_MS)
    // Bodies have their own limits: `endSlowBody` for management calls, `readBody` for others.
    server.requestTimeout = 0
    server.maxConnections = connectionsMax
    server.timeout = times.writeMs
    server.on('timeout', (socket) => this.onSilence(socket))
    server.on('connection', (socket) => {
      this.open.add(socket)
      this.unused.add(socket)
      socket.once('close', () => {
        this.open.delete(socket)
        this.unused.delete(socket)
      })
    })
    server.on('drop', () => {
      this.refused += 1
      onRefused()
    })
    return server
  }

  counts(): ConnectionCounts {
    const { open, refused } = this
    return { open: open.size, max: this.settings.connectionsMax, refused }
  }

  /** From now on every connection is closed with its next response, as that response says. */
  endWithNextResponse(): void {
    this.isEnding = true
  }

  /**
   * Closes all connections immediately, unlike `closeAllConnections` of Node also those whose
   * response has ended and whose client has not closed its side.
   */
  closeAll(): void {
    for (const socket of this.open) socket.destroy()
  }

  /**
   * Counts a request until its response has ended. Returns false if the connection was closed
   * instead.
   */
  private begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    this.unused.delete(socket)
    if (this.isEnding) response.shouldKeepAlive = false
    const state = this.stateOf(socket)
    if (state.unanswered >= PIPELINED_MAX) {
      socket.destroy()
      return false
    }
    state.unanswered += 1
    state.isExtended = false
    response.once('close', () => {
      state.unanswered -= 1
      if (!request.complete && !socket.destroyed) this.endUnread(request)
    })
    return true
  }

  /** Closes the connection if the rest of an unused body does not arrive in time. */
  private endUnread(request: IncomingMessage): void {
    const { bodyBytesMax: bytesMax, times } = this.settings
    dropRest(request, { bytesMax, timeoutMs: times.restMs }, () => {
      if (!request.complete) request.socket.destroy()
    })
  }

  /** Handles a socket without reads and writes for the timeout. */
  private onSilence(socket: Socket): void {
    const state = this.stateOf(socket)
    const isWaitedFor = socket.writableLength === 0 && state.unanswered > 0
    if (isWaitedFor) return
    const { times, trusted } = this.settings
    const isIdle = socket.writableLength === 0
    if (isIdle && !state.isExtended && isTrustedProxy(socket.remoteAddress, trusted)) {
      state.isExtended = true
      socket.setTimeout(times.proxyIdleMs - times.idleMs)
      return
    }
    socket.destroy()
  }

  private stateOf(socket: Socket): ConnectionState {
    let state = this.states.get(socket)
    if (state === undefined) this.states.set(socket, (state = { unanswered: 0, isExtended: false }))
    return state
  }
}

/** File descriptors reserved for the database, files and outgoing connections. */
const RESERVED_FILES = 256
const DEFAULT_CONNECTIONS_MAX = 16_384
/** Used if the system has no limit. */
const UNKNOWN_FILES_MAX = 2 * DEFAULT_CONNECTIONS_MAX

let knownFilesMax: number | undefined

/**
 * Returns how many files the process may have open. Node's report takes a while, so it is read
 * once.
 */
export const openFilesMax = (): number => (knownFilesMax ??= reportedFilesMax())

function reportedFilesMax(): number {
  // Without this the report looks up the host names of all peers. The types do not know it yet.
  const report: NodeJS.ProcessReport & { excludeNetwork?: boolean } = process.report
  report.excludeNetwork = true
  // The cast follows Node's documentation of reports; systems without limits lack this member.
  const { userLimits } = report.getReport() as unknown as {
    userLimits?: { open_files?: { soft?: number | string } }
  }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : UNKNOWN_FILES_MAX
}

/**
 * Returns the maximum number of connections: as configured, but below the limit of open files. The
 * default is half of that limit, because a relayed call uses a second connection for its upstream.
 */
export function connectionsMaxOf(configured: number | undefined, filesMax: number): number {
  const available = Math.max(1, filesMax - RESERVED_FILES)
  if (configured !== undefined) return Math.min(configured, available)
  return Math.max(1, Math.min(DEFAULT_CONNECTIONS_MAX, Math.floor(available / 2)))
}
