import { randomBytes } from 'node:crypto'

/*
 * What a client of the WebSocket protocol writes and reads. Source: RFC 6455, section 5.
 *
 *   1 byte   fin, three reserved bits, opcode (4)
 *   1 byte   masked, length (7): 126 and 127 stand for two and eight bytes that follow
 *   4 bytes  the mask, from clients only
 *            the payload, from clients combined with the mask
 *
 * No extension is ever agreed on, so a reserved bit is a fault. A fault ends the connection: where
 * one frame lies, the next cannot be found.
 */

const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** What there is to know of what came; pongs and binary messages are nobody's concern. */
export type SocketMessage =
  | { kind: 'text'; data: Buffer }
  | { kind: 'ping'; data: Buffer }
  | { kind: 'close'; code: number }

const FIN = 0x80
const RESERVED = 0x70
const MASKED = 0x80
const CONTROL_BYTES_MAX = 125
/** Nobody's answer is a message as long as this. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024
/** What holding a piece of a message takes beside its bytes; pieces may be empty. */
const PIECE_BYTES = 64
const MASK_BYTES = 4

export const NORMAL_CLOSURE = 1000
/** What a close without a reason stands for. */
const NO_STATUS = 1005

export const textFrame = (text: Buffer): Buffer => maskedFrame(Opcode.text, text)

export const pongFrame = (data: Buffer): Buffer => maskedFrame(Opcode.pong, data)

export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2)
  payload.writeUInt16BE(code)
  return maskedFrame(Opcode.close, payload)
}

function maskedFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const extraBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + extraBytes)
  head[0] = FIN | opcode
  head[1] = MASKED | (extraBytes === 0 ? length : extraBytes === 2 ? 126 : 127)
  if (extraBytes === 2) head.writeUInt16BE(length, 2)
  if (extraBytes === 8) head.writeBigUInt64BE(BigInt(length), 2)
  const mask = randomBytes(MASK_BYTES)
  const masked = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at += 1) {
    masked[at] = (payload[at] ?? 0) ^ (mask[at % MASK_BYTES] ?? 0)
  }
  return Buffer.concat([head, mask, masked])
}

interface Frame {
  opcode: number
  isFinal: boolean
  payload: Buffer
  /** Bytes of all of it. */
  length: number
}

export class FrameReader {
  /** Why reading stopped for good; null while all is well. */
  fault: string | null = null

  private held: Buffer[] = []
  private heldLength = 0
  private needed = 2
  /** The pieces of a message that is not complete. */
  private pieces: Buffer[] | null = null
  private heldByPieces = 0
  private isText = false

  /** The messages that this chunk completes. */
  push(chunk: Buffer): SocketMessage[] {
    if (this.fault !== null) return []
    this.held.push(chunk)
    this.heldLength += chunk.length
    // Joined only when there is enough of it: work stays linear however the input was cut.
    if (this.heldLength < this.needed) return []
    const messages: SocketMessage[] = []
    let rest = Buffer.concat(this.held)
    for (;;) {
      const frame = this.take(rest)
      if (frame === null) break
      rest = rest.subarray(frame.length)
      const message = this.messageOf(frame)
      if (message !== null) messages.push(message)
      if (this.fault !== null) break
    }
    this.held = this.fault === null && rest.length > 0 ? [rest] : []
    this.heldLength = rest.length
    return messages
  }

  /** The frame that `bytes` begin with; null: it has not all come, or is broken. */
  private take(bytes: Buffer): Frame | null {
    this.needed = 2
    if (bytes.length < 2) return null
    const first = bytes.readUInt8(0)
    const second = bytes.readUInt8(1)
    if ((first & RESERVED) !== 0) return this.broken('reserved bits')
    if ((second & MASKED) !== 0) return this.broken('masked')
    const short = second & 0x7f
    const headLength = short < 126 ? 2 : short === 126 ? 4 : 10
    if (bytes.length < headLength) return this.wait(headLength)
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
    const opcode = first & 0x0f
    const isFinal = (first & FIN) !== 0
    if (opcode >= Opcode.close && (!isFinal || length > CONTROL_BYTES_MAX)) {
      return this.broken('control frame')
    }
    if (length + this.heldByPieces > MESSAGE_BYTES_MAX) return this.broken('too large')
    if (bytes.length < headLength + length) return this.wait(headLength + length)
    const payload = bytes.subarray(headLength, headLength + length)
    return { opcode, isFinal, payload, length: headLength + length }
  }

  private messageOf({ opcode, isFinal, payload }: Frame): SocketMessage | null {
    switch (opcode) {
      case Opcode.ping:
        return { kind: 'ping', data: payload }
      case Opcode.pong:
        return null
      case Opcode.close:
        return { kind: 'close', code: payload.length < 2 ? NO_STATUS : payload.readUInt16BE(0) }
      case Opcode.text:
      case Opcode.binary:
        if (this.pieces !== null) return this.broken('message within a message')
        this.pieces = []
        this.isText = opcode === Opcode.text
        return this.continued(payload, isFinal)
      case Opcode.continuation:
        return this.pieces === null
          ? this.broken('continues nothing')
          : this.continued(payload, isFinal)
      default:
        return this.broken('opcode')
    }
  }

  private continued(payload: Buffer, isFinal: boolean): SocketMessage | null {
    const pieces = this.pieces ?? []
    pieces.push(payload)
    this.pieces = pieces
    this.heldByPieces += payload.length + PIECE_BYTES
    if (!isFinal) return null
    this.pieces = null
    this.heldByPieces = 0
    return this.isText ? { kind: 'text', data: Buffer.concat(pieces) } : null
  }

  private wait(bytes: number): null {
    this.needed = bytes
    return null
  }

  private broken(fault: string): null {
    this.fault = fault
    return null
  }
}
