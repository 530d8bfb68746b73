import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { CaptureMode } from '../../../contract/log.ts'
import type { App } from '../../app.ts'
import {
  bytesWanted,
  firstText,
  keptText,
  METADATA_BYTES_MAX,
  requestMetadata,
  responseMetadata,
} from './body.ts'
import { insertBodies, loadCaptureModes, type StoredBody } from './body-store.ts'

/**
 * Keeps requests and answers of the tokens that ask for it. Nothing here is on a call's way: a call
 * only notes what passes, and what was noted is stored after the call has been answered and
 * settled, many calls at once. Under more load than the storage takes, texts are dropped, never
 * calls delayed. A crash may lose the texts of the last moments; it loses no booking.
 */
export interface Captures {
  /** Notes a call's request; null when its token keeps nothing, which costs one look-up. */
  begin(tokenId: number, request: Buffer): CallCapture | null
  /** Stores what a call that has ended had noted. Does not wait for it. */
  store(requestId: string, capture: CallCapture): void
  /** Resolves when everything handed in is stored or given up. */
  drain(): Promise<void>
}

/** Announced as `capture:<token id>:<mode>` when a token's mode has changed. */
const ANNOUNCED = 'capture'
export const captureMessage = (tokenId: number, mode: CaptureMode): string =>
  `${ANNOUNCED}:${tokenId}:${mode}`

/** Bytes of noted texts that may wait for the storage. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024
/** Texts that are stored in one transaction. */
const BATCH_SIZE = 64
const KILOBYTE = 1024

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** What one call has noted so far. */
export class CallCapture {
  readonly mode: Exclude<CaptureMode, 'off'>
  readonly bytesMax: number
  /** The beginning of the request. */
  readonly request: Buffer
  readonly requestBytes: number
  private readonly lanes = new Map<number, string>()
  private laneLength = 0
  private whole: Buffer | null = null
  private bytes = 0

  constructor(mode: Exclude<CaptureMode, 'off'>, request: Buffer, bytesMax: number) {
    this.mode = mode
    this.bytesMax = bytesMax
    this.requestBytes = request.length
    const wanted = mode === 'metadata' ? METADATA_BYTES_MAX : bytesWanted(bytesMax)
    this.request = request.length <= wanted ? request : request.subarray(0, wanted)
  }

  /** An answer that came in one piece. */
  addWhole(body: Buffer): void {
    this.bytes = body.length
    this.whole = body.subarray(0, this.mode === 'metadata' ? 0 : bytesWanted(this.bytesMax))
  }

  /** An answer that is no text: what it is, and how large. */
  addUnreadable(mediaType: string, bytes: number): void {
    const label = `[${mediaType}, ${bytes} bytes]`
    this.bytes = this.mode === 'metadata' ? bytes : label.length
    this.lanes.set(0, label)
  }

  /** Pieces of a streamed answer. A lane is one of several texts that come side by side. */
  addTexts(pieces: readonly { lane: number; text: string }[]): void {
    for (const { lane, text } of pieces) {
      this.bytes += Buffer.byteLength(text)
      if (this.mode === 'metadata' || this.laneLength > bytesWanted(this.bytesMax)) continue
      this.laneLength += text.length
      this.lanes.set(lane, (this.lanes.get(lane) ?? '') + text)
    }
  }

  /** Bytes that are held. */
  get size(): number {
    return this.request.length + (this.whole?.length ?? 0) + this.laneLength
  }

  requestText(): string {
    const { mode, bytesMax, request, requestBytes } = this
    if (mode === 'metadata') {
      return requestBytes === request.length
        ? requestMetadata(request)
        : JSON.stringify({ bytes: requestBytes })
    }
    const cut = { ...firstText(request, request.length), bytes: requestBytes }
    return keptText(cut, { bytesMax, isRedacted: mode === 'redacted' })
  }

  responseText(): string {
    const { mode, bytesMax, bytes, whole } = this
    if (mode === 'metadata') return responseMetadata(bytes)
    const text =
      whole === null ? [...this.lanes.values()].join('\n\n') : firstText(whole, whole.length).text
    return keptText({ text, bytes }, { bytesMax, isRedacted: mode === 'redacted' })
  }
}

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
        (error: unknown) => trace.error({ err: error }, 'capture modes are those of before'),
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
        trace.warn({ requestId }, 'a captured text was dropped: too many wait for the storage')
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

/** The texts of a stored body. */
export async function unpackedBody({
  request,
  response,
}: Pick<StoredBody, 'request' | 'response'>): Promise<{ request: string; response: string }> {
  const [asked, answered] = await Promise.all([request, response].map(inflated))
  return { request: asked ?? '', response: answered ?? '' }
}

const inflated = async (bytes: Uint8Array): Promise<string> =>
  bytes.length === 0 ? '' : (await inflate(bytes)).toString('utf8')
