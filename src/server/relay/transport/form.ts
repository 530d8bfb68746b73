import { isUtf8 } from 'node:buffer'
import { AppError } from '../../app-error.ts'
import { scanBody, type ScannedBody } from '../json/body-scan.ts'

/**
 * A multipart form, parsed once and strictly (RFC 7578): the members that decide about the call are
 * read from the same bytes that go upstream. A form that two parsers could read differently (a
 * duplicate field, an escaped name, a part with a transfer encoding) is rejected.
 */
export interface Form {
  bytes: Buffer
  contentType: string
  /** The text fields as a scanned body, so that they are checked and read like JSON members. */
  fields: ScannedBody
  files: readonly FormFile[]
  /** Returns the same form with this model. */
  withModel(model: string): Buffer
}

export interface FormFile {
  name: string
  fileName: string
  bytes: Buffer
}

interface Part {
  name: string
  /** Null for a text field. */
  fileName: string | null
  start: number
  end: number
}

const PARTS_MAX = 128
const HEAD_BYTES_MAX = 4096
/** The longest text fields are reference voices, ten seconds each, in base64. */
const TEXT_BYTES_MAX = 8 * 1024 * 1024

const refuse = (detail: string, offset: number): AppError =>
  new AppError('relay_body_invalid', { detail, offset })

export const isForm = (contentType: string | undefined): boolean =>
  /^multipart\/form-data\b/i.test(contentType ?? '')

/** Parses a form. Throws `relay_body_invalid` or `form_file_unnamed` if it is invalid. */
export function readForm(sent: Buffer, contentType: string): Form {
  const boundary = boundaryOf(contentType)
  const { bytes, parts } = partsOf(sent, boundary)
  const texts = new Map<string, string>()
  for (const { name, fileName, start, end } of parts) {
    if (fileName !== null) continue
    const text = bytes.subarray(start, end)
    const isText = isUtf8(text)
    if (!isText && FILES.test(name)) throw new AppError('form_file_unnamed', { field: name })
    if (text.length > TEXT_BYTES_MAX) throw refuse(`field ${name}: too long`, start)
    if (!isText) throw refuse(`field ${name}: not UTF-8`, start)
    // `include[]` and similar fields are lists; every other field may occur once.
    if (texts.has(name) && !name.endsWith('[]')) throw refuse(`field ${name}: twice`, start)
    texts.set(name, text.toString('utf8'))
  }
  const fields = scanBody(Buffer.from(JSON.stringify(Object.fromEntries(texts))))
  if (!fields.ok) throw refuse(`${fields.reason} “${fields.key.slice(0, 128)}”`, 0)
  const model = parts.find(({ name, fileName }) => name === 'model' && fileName === null)
  const files = parts.flatMap(({ name, fileName, start, end }): FormFile[] =>
    fileName === null ? [] : [{ name, fileName, bytes: bytes.subarray(start, end) }],
  )
  // Lenient parsers would read a file part with this name as a text field.
  const disguised = files.find(({ name }) => GUARDED.has(name.toLowerCase()))
  if (disguised !== undefined) throw refuse(`field ${disguised.name}: is a file`, 0)
  return {
    bytes,
    contentType,
    fields,
    files,
    withModel(name) {
      if (model !== undefined) {
        return Buffer.concat([
          bytes.subarray(0, model.start),
          Buffer.from(name),
          bytes.subarray(model.end),
        ])
      }
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n`
      return Buffer.concat([Buffer.from(`${head}${name}\r\n`), bytes])
    },
  }
}

/** Fields that must be files; only the file name distinguishes them from text fields. */
const FILES = /^(?:file|image(?:\[\d*\])?|mask)$/

const GUARDED: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'n',
  'size',
  'quality',
  'prompt',
  'response_format',
])

/** Returns the boundary. It allows characters that need no quotes, or any in quotes. */
function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(contentType)
  const boundary = match?.[1] ?? match?.[2] ?? ''
  const isSound = /^[A-Za-z0-9'()+_,./:=? -]*[A-Za-z0-9'()+_,./:=?-]$/.test(boundary)
  const isOnce = contentType.match(/boundary=/gi)?.length === 1
  if (!isSound || !isOnce) throw refuse('no boundary', 0)
  return boundary
}

/**
 * Returns the parts, and the form without the bytes before and after it: line breaks, and an
 * epilogue, which must not be read.
 */
function partsOf(sent: Buffer, boundary: string): { bytes: Buffer; parts: Part[] } {
  const opening = Buffer.from(`--${boundary}`)
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  let begin = 0
  while (sent[begin] === CR && sent[begin + 1] === LF) begin += 2
  const bytes = sent.subarray(begin)
  if (!bytes.subarray(0, opening.length).equals(opening)) throw refuse('no boundary', 0)
  const parts: Part[] = []
  let at = opening.length
  while (!isClosing(bytes, at)) {
    if (parts.length >= PARTS_MAX) throw refuse('too many parts', at)
    if (bytes[at] !== CR || bytes[at + 1] !== LF) throw refuse('a broken boundary', at)
    const headEnd = bytes.indexOf('\r\n\r\n', at)
    if (headEnd < 0 || headEnd - at > HEAD_BYTES_MAX) throw refuse('a part without an end', at)
    const start = headEnd + 4
    // An empty part ends where it begins: its line break is the one of the header.
    const end = bytes.indexOf(delimiter, headEnd + 2)
    if (end < 0) throw refuse('a part without an end', start)
    parts.push({
      ...headOf(bytes.toString('utf8', at + 2, headEnd), at),
      start: Math.min(start, Math.max(end, headEnd + 2)),
      end: Math.max(end, headEnd + 2),
    })
    at = end + delimiter.length
  }
  const isLineEnd = bytes[at + 2] === CR && bytes[at + 3] === LF
  return { bytes: bytes.subarray(0, at + (isLineEnd ? 4 : 2)), parts }
}

const CR = 13
const LF = 10
const DASH = 0x2d

/** Whether the boundary is the closing one. */
const isClosing = (bytes: Buffer, at: number): boolean =>
  bytes[at] === DASH && bytes[at + 1] === DASH

/** Returns name and file name of a part. */
function headOf(head: string, offset: number): Pick<Part, 'name' | 'fileName'> {
  const lines = head.split('\r\n')
  const dispositions = lines.filter((line) => /^content-disposition\s*:/i.test(line))
  const [disposition = ''] = dispositions
  const isPlain = lines.every((line) => /^[A-Za-z-]+:[^\r\n\0]*$/.test(line))
  const isEncoded = lines.some(
    (line) => /^content-transfer-encoding\s*:/i.test(line) && !AS_IT_IS.test(line),
  )
  if (dispositions.length !== 1 || !isPlain || isEncoded) throw refuse('a head of a part', offset)
  const match =
    /^content-disposition:\s*form-data((?:\s*;\s*[a-z*]+=(?:"(?:[^"\\]|\\.)*"|[^\s;"\\]*))*)\s*;?$/i.exec(
      disposition,
    )
  // A parser without escapes would end the name at the quote and read the rest as parameters.
  const escaped = disposition.indexOf('\\"')
  const isAmbiguous = escaped >= 0 && disposition.includes(';', escaped)
  if (match === null || isAmbiguous) throw refuse('a head of a part', offset)
  const parameters = new Map<string, string>()
  for (const [, key = '', quoted, bare = ''] of (match[1] ?? '').matchAll(PARAMETER)) {
    const name = key.toLowerCase()
    if (parameters.has(name)) throw refuse('a head of a part', offset)
    parameters.set(name, quoted ?? bare)
  }
  const name = parameters.get('name') ?? ''
  // Some parsers prefer an extended name to the plain one.
  if (!/^[\w.[\]-]{1,100}$/.test(name) || parameters.has('name*')) {
    throw refuse('the name of a part', offset)
  }
  return { name, fileName: parameters.get('filename') ?? parameters.get('filename*') ?? null }
}

const PARAMETER = /;\s*([a-z*]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gi
/** Transfer encodings that leave the bytes unchanged. */
const AS_IT_IS = /:\s*(?:7bit|8bit|binary)\s*$/i
