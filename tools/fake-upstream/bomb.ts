import zlib from 'node:zlib'

const BYTES_PER_MEBIBYTE = 1024 * 1024
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])

/**
 * Creates a gzip file that decompresses to `before`, this many MiB of one letter, and `after`.
 *
 * Each part is deflated separately and ends with a full flush, which aligns it to a byte and resets
 * the dictionary; so one compressed MiB can be repeated, and the time does not depend on the size.
 */
export function gzipBomb({ before, after }: { before: string; after: string }, mebibytes: number) {
  const letters = Buffer.alloc(BYTES_PER_MEBIBYTE, 'a')
  const packedLetters = deflatePart(letters)
  let checksum = zlib.crc32(before)
  for (let count = 0; count < mebibytes; count++) checksum = zlib.crc32(letters, checksum)
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(zlib.crc32(after, checksum), 0)
  tail.writeUInt32LE((before.length + mebibytes * BYTES_PER_MEBIBYTE + after.length) >>> 0, 4)
  return Buffer.concat([
    GZIP_HEAD,
    deflatePart(Buffer.from(before)),
    ...Array.from({ length: mebibytes }, () => packedLetters),
    zlib.deflateRawSync(after),
    tail,
  ])
}

function deflatePart(bytes: Buffer): Buffer {
  return zlib.deflateRawSync(bytes, { finishFlush: zlib.constants.Z_FULL_FLUSH })
}
