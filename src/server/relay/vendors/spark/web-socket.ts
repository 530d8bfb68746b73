import { createHash, randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Egress } from '../../../egress/egress.ts'
import {
  closeFrame,
  FrameReader,
  NORMAL_CLOSURE,
  pongFrame,
  textFrame,
  type SocketMessage,
} from './web-socket-frames.ts'

/**
 * A WebSocket to an upstream, by the rules for outgoing calls: names are resolved, addresses
 * classified and connections pinned by the egress module, and a channel's proxy is taken. Source:
 * RFC 6455, section 4. A library's client is not used, because it keeps from us what a server says
 * that refuses, and reads on while nobody takes what came.
 */
export interface SocketAddress {
  /** `ws:` or `wss:`. */
  url: string
  headers: Record<string, string>
  /** Until the server has agreed. */
  openTimeoutMs: number
  proxy: string | undefined
}

/** After `onClosed` nothing else is called; it comes once, never synchronously. */
export interface SocketListener {
  onOpen(socket: OpenSocket): void
  onText(text: Buffer): void
  /** The server answered as for any HTTP call. `onClosed` follows. */
  onRefused(status: number, headers: HttpHeaders, body: Buffer): void
  onClosed(error: Error): void
}

type HttpHeaders = Record<string, string | string[] | undefined>

/** What can be done with a socket that is open. */
export interface OpenSocket {
  send(text: Buffer): void
  pause(): void
  resume(): void
  /** Says that it is over, and goes. */
  close(): void
}

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const VERSION = '13'
const LINGER_MS = 2000
/** Of what a server says that refuses. */
const REFUSAL_BYTES_MAX = 64 * 1024

/** Opens a socket; answers how to give it up. Throws for addresses that are not allowed. */
export function openWebSocket(
  egress: Egress,
  { url, headers, openTimeoutMs, proxy }: SocketAddress,
  listener: SocketListener,
): () => void {
  const { protocol, host, pathname, search } = new URL(url)
  const opening = new Opening(listener)
  const asked = {
    origin: `${protocol === 'wss:' ? 'https:' : 'http:'}//${host}`,
    path: `${pathname}${search}`,
    method: 'GET' as const,
    headers: { ...headers, 'sec-websocket-key': opening.key, 'sec-websocket-version': VERSION },
    upgrade: 'websocket',
    headersTimeout: openTimeoutMs,
    bodyTimeout: openTimeoutMs,
    // What a proxy's tunnel goes by; other dispatchers for `wss:` know it.
    allowH2: false,
  }
  egress.dispatcher(`${protocol}//${host}`, proxy).dispatch(asked, opening)
  return () => opening.giveUp()
}

const GIVEN_UP = new Error('the socket was given up')

/** The HTTP side of it, until both have agreed. */
class Opening implements Dispatcher.DispatchHandler {
  readonly key = randomBytes(16).toString('base64')

  private readonly listener: SocketListener
  private controller: Dispatcher.DispatchController | null = null
  private socket: Connection | null = null
  private refusal: { status: number; headers: HttpHeaders; parts: Buffer[] } | null = null
  private refusalLength = 0
  private isGivenUp = false
  private isOver = false

  constructor(listener: SocketListener) {
    this.listener = listener
  }

  giveUp(): void {
    this.isGivenUp = true
    this.socket?.destroy(GIVEN_UP)
    if (this.socket !== null) return
    this.controller?.abort(GIVEN_UP)
    // Not started yet: it never will, as far as anybody is concerned.
    if (this.controller === null) this.closed(GIVEN_UP)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isGivenUp) controller.abort(GIVEN_UP)
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    _status: number,
    headers: HttpHeaders,
    socket: Duplex,
  ): void {
    const accepted = createHash('sha1')
      .update(this.key + GUID)
      .digest('base64')
    const connection = new Connection(socket, this.listener)
    this.socket = connection
    this.isOver = true
    if (headers['sec-websocket-accept'] !== accepted) {
      connection.destroy(new Error('the server has not understood the question for a WebSocket'))
      return
    }
    this.listener.onOpen(connection)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpHeaders,
  ): void {
    if (status >= 200) this.refusal = { status, headers, parts: [] }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.refusalLength += chunk.length
    if (this.refusalLength <= REFUSAL_BYTES_MAX) this.refusal?.parts.push(chunk)
    else controller.abort(new Error('the server says too much'))
  }

  onResponseEnd(): void {
    this.refused()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // Its status says what is wrong, even if its words did not all arrive.
    if (this.refusal !== null && !this.isGivenUp) this.refused()
    else this.closed(error)
  }

  private refused(): void {
    if (this.isOver || this.refusal === null) return
    const { status, headers, parts } = this.refusal
    this.listener.onRefused(status, headers, Buffer.concat(parts))
    this.closed(new Error('the server refused'))
  }

  private closed(error: Error): void {
    if (this.isOver) return
    this.isOver = true
    queueMicrotask(() => this.listener.onClosed(error))
  }
}

/** The socket, once both have agreed. */
class Connection implements OpenSocket {
  private readonly socket: Duplex
  private readonly listener: SocketListener
  private readonly reader = new FrameReader()
  private reason: Error | null = null
  private isClosing = false

  constructor(socket: Duplex, listener: SocketListener) {
    this.socket = socket
    this.listener = listener
    socket.on('error', (error) => (this.reason ??= error))
    socket.on('data', (chunk: Buffer) => this.onData(chunk))
    socket.on('end', () => this.socket.destroy())
    socket.on('close', () =>
      listener.onClosed(this.reason ?? new Error('the connection was closed')),
    )
  }

  send(text: Buffer): void {
    this.socket.write(textFrame(text))
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  close(): void {
    if (this.isClosing) return
    this.isClosing = true
    const { socket } = this
    socket.end(closeFrame(NORMAL_CLOSURE), () => socket.destroy())
    // Should nobody take what was written before.
    const linger = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(linger))
  }

  destroy(reason: Error): void {
    this.isClosing = true
    this.reason ??= reason
    this.socket.destroy()
  }

  private onData(chunk: Buffer): void {
    try {
      for (const message of this.reader.push(chunk)) this.onMessage(message)
    } catch (error) {
      // Nobody else would catch what whoever listens has stumbled over.
      this.destroy(error instanceof Error ? error : new Error(String(error)))
    }
    if (this.reader.fault !== null) this.destroy(new Error(`a bad frame: ${this.reader.fault}`))
  }

  private onMessage(message: SocketMessage): void {
    if (this.isClosing) return
    switch (message.kind) {
      case 'text':
        this.listener.onText(message.data)
        return
      case 'ping':
        // Who does not take what is sent is not told once more that we are there.
        if (!this.socket.writableNeedDrain) this.socket.write(pongFrame(message.data))
        return
      case 'close':
        this.reason ??= new Error(`the server closed: ${message.code}`)
        this.close()
        return
      default:
        message satisfies never
    }
  }
}
