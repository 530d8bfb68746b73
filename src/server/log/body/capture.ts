import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { CaptureMode } from '../../../contract/log.ts'
import type { App } from '../../app.ts'
import {
  keptText,
  METADATA_BYTES_MAX,
  requestMetadata,
  responseMetadata,
  seenBytes,
  seenText,
  type SeenBytes,
} from './body.ts'
import { insertBodies, loadCaptureModes, type StoredBody } from './body-store.ts'
import { StreamedText, type StreamedPiece } from './streamed-text.ts'

/**
 * Captures requests and responses of tokens with a capture mode. Calls do not wait for it: a call
 * only collects its texts, which are stored in batches after it was answered and settled. If the
 * storage is overloaded, texts are dropped, but calls are not delayed. A crash may lose the latest
 * texts, but no ledger rows.
 */
export interface Captures {
  /** Starts the capture of a call; null if its token captures nothing, which costs one lookup. */
  begin(tokenId: number, request: Buffer): CallCapture | null
  /** Stores the texts of a finished call in the background. */
  store(requestId: string, capture: CallCapture): void
  /** Resolves when all submitted texts are stored or dropped. */
  drain(): Promise<void>
}

/** Announced as `capture:<token id>:<mode>` when a token's mode has changed. */
const ANNOUNCED = 'capture'
export const captureMessage = (tokenId: number, mode: CaptureMode): string =>
  `${ANNOUNCED}:${tokenId}:${mode}`

/** Maximum size in bytes of texts waiting to be stored. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024
/** Number of texts stored in one transaction. */
const BATCH_SIZE = 64
const KILOBYTE = 1024

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** Collected texts of one call. */
export class CallCapture {
  readonly mode: Exclude<CaptureMode, 'off'>
  readonly bytesMax: number
  private readonly request: SeenBytes
  private readonly answer: StreamedText
  private whole: SeenBytes | null = null
  private bytes = 0

  constructor(mode: Exclude<CaptureMode, 'off'>, request: Buffer, bytesMax: number) {
    this.mode = mode
    this.bytesMax = bytesMax
    this.request = this.isMetadata
      ? { ...NOTHING_SEEN, head: request.subarray(0, METADATA_BYTES_MAX), bytes: request.length }
      : seenBytes(request, bytesMax)
    this.answer = new StreamedText(bytesMax)
  }

  private get isMetadata(): boolean {
    return this.mode === 'metadata'
  }

  /** Adds a complete response. */
  addWhole(body: Buffer): void {
    this.bytes = body.length
    this.whole = this.isMetadata ? NOTHING_SEEN : seenBytes(body, this.bytesMax)
  }

  /** Adds a response that is not text: its type and size. */
  addUnreadable(mediaType: string, bytes: number): void {
    const label = `[${mediaType}, ${bytes} bytes]`
    this.bytes = this.isMetadata ? bytes : label.length
    this.answer.add({ lane: 0, text: label })
  }

  /** Adds pieces of a streamed response. */
  addTexts(pieces: readonly StreamedPiece[]): void {
    for (const piece of pieces) {
      this.bytes += Buffer.byteLength(piece.text)
      if (!this.isMetadata) this.answer.add(piece)
    }
  }

  /** Bytes in memory. */
  get size(): number {
    return heldBytes(this.request) + heldBytes(this.whole) + this.answer.length
  }

  requestText(): string {
    const { bytesMax, request } = this
    if (this.isMetadata) {
      return request.bytes === request.head.length
        ? requestMetadata(request.head)
        : JSON.stringify({ bytes: request.bytes })
    }
    return keptText(seenText(request), { bytesMax, isRedacted: this.mode === 'redacted' })
  }

  responseText(): string {
    const { bytesMax, bytes, whole } = this
    if (this.isMetadata) return responseMetadata(bytes)
    const seen = whole === null ? { ...this.answer.seen(), bytes } : seenText(whole)
    return keptText(seen, { bytesMax, isRedacted: this.mode === 'redacted' })
  }
}

const NOTHING_SEEN: SeenBytes = { head: Buffer.alloc(0), tail: Buffer.alloc(0), bytes: 0 }

const heldBytes = (seen: SeenBytes | null): number =>
  seen === null ? 0 : seen.head.length + seen.tail.length

export async function createCaptures({
  database,
  options,
  trace,
}: Pick<App, 'database' | 'options' | 'trace'>): Promise<Captures> {
  let modes = await loadCaptureModes(database.read)
  const waiting: { requestId: string; capture: CallCapture }[] = []
  let waitingBytes = 0
  let storing: Promise<void> | null = null

  database.onAnnouncement((message) => {
    const [noun, id, mode] = message.split(':')
    if (noun === 'everything') {
      loadCaptureModes(database.read).then(
        (loaded) => (modes = loaded),
        (error: unknown) =>
          trace.error({ err: error }, 'could not load the capture modes; the previous ones stay'),
      )
    }
    if (noun !== ANNOUNCED) return
    if (mode === 'metadata' || mode === 'redacted' || mode === 'full') modes.set(Number(id), mode)
    else modes.delete(Number(id))
  })

  async function storeAll(): Promise<void> {
    for (;;) {
      const batch = waiting.splice(0, BATCH_SIZE)
      if (batch.length === 0) return
      try {
        const bodies = await Promise.all(batch.map(packed))
        await database.write.transaction().execute((trx) => insertBodies(trx, bodies))
      } catch (error) {
        trace.warn({ err: error, count: batch.length }, 'captured texts were not stored')
      }
      waitingBytes -= batch.reduce((sum, { capture }) => sum + capture.size, 0)
    }
  }

  return {
    begin(tokenId, request) {
      if (modes.size === 0) return null
      const mode = modes.get(tokenId)
      if (mode === undefined || mode === 'off' || !options.flag('LogConsumeEnabled')) return null
      const bytesMax = options.number('LogBodyKilobytesMax') * KILOBYTE
      return bytesMax === 0 ? null : new CallCapture(mode, request, bytesMax)
    },
    store(requestId, capture) {
      if (waitingBytes + capture.size > WAITING_BYTES_MAX) {
        trace.warn({ requestId }, 'dropped a captured text: too many are waiting to be stored')
        return
      }
      waitingBytes += capture.size
      waiting.push({ requestId, capture })
      storing ??= storeAll().finally(() => {
        storing = null
      })
    },
    async drain() {
      await storing
    },
  }
}

async function packed({
  requestId,
  capture,
}: {
  requestId: string
  capture: CallCapture
}): Promise<StoredBody> {
  const [request, response] = await Promise.all(
    [capture.requestText(), capture.responseText()].map(deflated),
  )
  return {
    request_id: requestId,
    mode: capture.mode,
    request: request ?? NOTHING,
    response: response ?? NOTHING,
  }
}

const NOTHING = new Uint8Array()

const deflated = async (text: string): Promise<Uint8Array> =>
  text === '' ? NOTHING : deflate(text)

/** Decompresses the texts of a stored capture. */
export async function unpackedBody({
  request,
  response,
}: Pick<StoredBody, 'request' | 'response'>): Promise<{ request: string; response: string }> {
  const [asked, answered] = await Promise.all([request, response].map(inflated))
  return { request: asked ?? '', response: answered ?? '' }
}

const inflated = async (bytes: Uint8Array): Promise<string> =>
  bytes.length === 0 ? '' : (await inflate(bytes)).toString('utf8')
