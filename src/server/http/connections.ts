import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isTrustedProxy, type TrustedProxies } from './client-address.ts'
import type { TimeLimits } from './time-limits.ts'
import { dropRest } from './unread-body.ts'

export interface ConnectionSettings {
  times: TimeLimits
  /** Connections that may be open at once. */
  connectionsMax: number
  /** Bytes that the largest body may have. */
  bodyBytesMax: number
  trusted: TrustedProxies
  /** Called for each connection that is refused because too many are open. */
  onRefused(): void
}

/** Figures for `/metrics`. */
export interface ConnectionCounts {
  open: number
  max: number
  refused: number
}

/**
 * Requests of one connection that may be unanswered at once. Clients and proxies send the next one
 * after the answer; thousands fit into one packet, and each would be worked on at once.
 */
const PIPELINED_MAX = 16

const IDLE_BUFFER_MS = 1000

interface ConnectionState {
  unanswered: number
  /** The idle time of a proxy has been granted since its last request. */
  isExtended: boolean
}

/**
 * The listener's connections: how many there may be, and how long each may stay open without
 * progress. A connection ends when it is idle, when its client takes nothing of a response, or when
 * its client does not finish the body of a request that was answered already.
 */
export class Connections {
  private readonly settings: ConnectionSettings
  private readonly states = new WeakMap<Socket, ConnectionState>()
  private open = 0
  private refused = 0

  constructor(settings: ConnectionSettings) {
    this.settings = settings
  }

  /** Returns a server with these limits whose requests `listener` answers. */
  serve(listener: http.RequestListener): http.Server {
    const { times, connectionsMax, onRefused } = this.settings
    const checks = { connectionsCheckingInterval: times.checkMs }
    const server = http.createServer(checks, (request, response) => {
      if (this.begin(request, response)) listener(request, response)
    })
    server.headersTimeout = times.headMs
    server.keepAliveTimeout = times.idleMs
    // A client that goes by the time in `Keep-Alive` may send a request just before its end.
    server.keepAliveTimeoutBuffer = Math.min(times.idleMs, IDLE_BUFFER_MS)
    // Bodies have limits of their own: `endSlowBody` for management calls, `readBody` for others.
    server.requestTimeout = 0
    server.maxConnections = connectionsMax
    server.timeout = times.writeMs
    server.on('timeout', (socket) => this.onSilence(socket))
    server.on('connection', (socket) => {
      this.open += 1
      socket.once('close', () => (this.open -= 1))
    })
    server.on('drop', () => {
      this.refused += 1
      onRefused()
    })
    return server
  }

  counts(): ConnectionCounts {
    const { open, refused } = this
    return { open, max: this.settings.connectionsMax, refused }
  }

  /** Counts a request until its response has ended; false if the connection was closed instead. */
  private begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
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

  /** A connection is not kept for a body that nobody waits for. */
  private endUnread(request: IncomingMessage): void {
    const { bodyBytesMax: bytesMax, times } = this.settings
    dropRest(request, { bytesMax, timeoutMs: times.restMs }, () => {
      if (!request.complete) request.socket.destroy()
    })
  }

  /** Nothing was read from the socket and nothing written to it for the time that is set. */
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

/** Descriptors kept for the database, files and connections to other services. */
const RESERVED_FILES = 256
const DEFAULT_CONNECTIONS_MAX = 16_384
/** The limit where the system names none. */
const UNKNOWN_FILES_MAX = 2 * DEFAULT_CONNECTIONS_MAX

/** Returns how many files the process may have open. */
export function openFilesMax(): number {
  // Without this the report looks up the host names of all peers. The types do not know it yet.
  const report: NodeJS.ProcessReport & { excludeNetwork?: boolean } = process.report
  report.excludeNetwork = true
  // The cast holds by Node's description of a report; systems without limits have no such member.
  const { userLimits } = report.getReport() as unknown as {
    userLimits?: { open_files?: { soft?: number | string } }
  }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : UNKNOWN_FILES_MAX
}

/**
 * Returns how many connections may be open at once: as configured, but below the limit of open
 * files; by default half of that, because a relayed call takes a second connection to its upstream.
 */
export function connectionsMaxOf(configured: number | undefined, filesMax: number): number {
  const available = Math.max(1, filesMax - RESERVED_FILES)
  if (configured !== undefined) return Math.min(configured, available)
  return Math.max(1, Math.min(DEFAULT_CONNECTIONS_MAX, Math.floor(available / 2)))
}
