import { promisify } from 'node:util'
import zlib from 'node:zlib'

type Inflater = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const gunzip: Inflater = promisify(zlib.gunzip)
const unzlib: Inflater = promisify(zlib.inflate)
const inflateRaw: Inflater = promisify(zlib.inflateRaw)

/**
 * `deflate` means the zlib format, but some servers omit its header and checksum, which browsers
 * accept. Sources: RFC 9110, section 8.4.1.2; RFC 1950, section 2.2.
 */
const inflateEither: Inflater = (bytes, options) =>
  hasZlibHead(bytes) ? unzlib(bytes, options) : inflateRaw(bytes, options)

function hasZlibHead([method = 0, flags = 0]: Buffer): boolean {
  return (method & 0x0f) === DEFLATE && ((method << 8) | flags) % HEAD_MULTIPLE === 0
}

const DEFLATE = 8
const HEAD_MULTIPLE = 31

const inflaters: ReadonlyMap<string, Inflater> = new Map<string, Inflater>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflateEither],
  ['br', promisify(zlib.brotliDecompress)],
  ['zstd', promisify(zlib.zstdDecompress)],
])

export type InflateFault = 'unknown-encoding' | 'too-large' | 'broken'

/**
 * Decompresses a body by its `Content-Encoding`, off the event loop and up to `bytesMax`, because a
 * few hundred bytes can expand to gigabytes.
 */
export async function inflate(
  bytes: Buffer,
  encoding: string,
  bytesMax: number,
): Promise<Buffer | InflateFault> {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return bytes
  const inflater = inflaters.get(name)
  if (inflater === undefined) return 'unknown-encoding'
  try {
    return await inflater(bytes, { maxOutputLength: bytesMax })
  } catch (error) {
    const isTooLarge =
      error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return isTooLarge ? 'too-large' : 'broken'
  }
}
