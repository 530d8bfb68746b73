import { promisify } from 'node:util'
import zlib from 'node:zlib'

type Inflater = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const gunzip: Inflater = promisify(zlib.gunzip)
const inflaters: ReadonlyMap<string, Inflater> = new Map<string, Inflater>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', promisify(zlib.inflate)],
  ['br', promisify(zlib.brotliDecompress)],
  ['zstd', promisify(zlib.zstdDecompress)],
])

export type InflateFault = 'unknown-encoding' | 'too-large' | 'broken'

/**
 * Undoes a `Content-Encoding`, off the event loop and not beyond `bytesMax`: a few hundred bytes
 * can hold gigabytes.
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
