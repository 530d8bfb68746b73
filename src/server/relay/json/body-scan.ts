import { isUtf8 } from 'node:buffer'
import { keyText, MEMBER_STRIDE, scanJsonObject } from '../../json/json-scan.ts'
import type { JsonFault, JsonFaultCode, ScannedObject, ScanRules } from '../../json/json-scan.ts'
import { parseJson } from './json-value.ts'

/**
 * Reads a relayed request body strictly, from its bytes. Everything that decides about a call
 * (model, limits, streaming) is read from here, and the same bytes go upstream. No two parsers may
 * understand two different requests: a body with duplicate keys, or with a key that lenient parsers
 * take for another one, is rejected.
 */

/**
 * Deeper than the JSON of any client; several parsers downstream fail by recursion far below their
 * limits.
 */
export const BODY_DEPTH_MAX = 64
export const OBJECT_KEYS_MAX = 10_000
/**
 * Far more messages, parts and schemas than any conversation has. Reading a million of them would
 * block the event loop for seconds.
 */
export const BODY_ITEMS_MAX = 50_000

const REQUEST_RULES: ScanRules = {
  depthMax: BODY_DEPTH_MAX,
  keysMax: OBJECT_KEYS_MAX,
  itemsMax: BODY_ITEMS_MAX,
  // Embedding requests have long lists of token numbers.
  valuesMax: Number.MAX_SAFE_INTEGER,
  uniqueKeys: true,
  escapedNames: false,
}
/** The response of an upstream is only inspected; clients parse it with `JSON.parse`. */
const ANSWER_RULES: ScanRules = {
  depthMax: 512,
  keysMax: Number.MAX_SAFE_INTEGER,
  itemsMax: Number.MAX_SAFE_INTEGER,
  valuesMax: Number.MAX_SAFE_INTEGER,
  uniqueKeys: false,
  escapedNames: true,
}

/**
 * Top-level members that authorization, routing, metering or pricing read on any endpoint. Parsers
 * that ignore letter case (Go's is one) would take `MODEL` for `model`.
 */
const GUARDED_MEMBERS: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'n',
  'best_of',
  'messages',
  'prompt',
  'input',
  'instructions',
  'system',
  'contents',
  'tools',
  'functions',
  'response_format',
  'user',
  'size',
  'quality',
  'resolution',
  'image',
  'images',
  'input_fidelity',
  'partial_images',
  'parameters',
  'batch_size',
  'max_images',
  'num_images',
  'num_outputs',
  'number_of_images',
  'samplecount',
  'imageconfig',
  'sequential_image_generation',
  'sequential_image_generation_options',
  'enable_interleave',
  'layer_decomposition',
  'output_format',
  'service_tier',
  'servicetier',
  'speed',
  'inference_geo',
  'fallbacks',
  'models',
  'plugins',
  'search_parameters',
  'enable_search',
  'echo',
  'previous_response_id',
  'background',
  'conversation',
  'store',
  'thread',
  'max_tool_calls',
  'context_management',
  'tool_choice',
  'web_search_options',
  'enable_thinking',
  'thinking',
  'documents',
  'query',
  'stream_format',
  'generation_config',
  'generationconfig',
  'requests',
  'output_config',
  'prompt_cache_key',
  'metadata',
])
/** Guarded members in Google's second spelling. */
const SECOND_SPELLINGS: ReadonlySet<string> = new Set([
  'serviceTier',
  'generationConfig',
  'sampleCount',
  'imageConfig',
])
const GUARDED_STREAM_OPTIONS: ReadonlySet<string> = new Set(['include_usage'])

export type BodyFaultCode = JsonFaultCode | 'empty' | 'bom' | 'encoding'

export interface BodyFault {
  ok: false
  code: BodyFaultCode
  /** Byte offset of the fault. */
  offset: number
  /** A few English words for a trace. The caller writes the message for the client. */
  reason: string
  /** For `duplicate-key` and `disguised-key` the key as its reader would understand it, else ''. */
  key: string
}

export interface ScannedBody {
  ok: true
  bytes: Buffer
  /** Four offsets per top-level member; see `json-scan.ts`. Use the functions below. */
  members: number[]
  /** Start of list elements; see `json-scan.ts` and `itemsOf`. */
  itemStarts: number[]
}

export interface ByteRange {
  start: number
  end: number
}

/** Reads a request body. Never throws: returns the fault of an invalid one. */
export function scanBody(bytes: Buffer): ScannedBody | BodyFault {
  if (bytes.length === 0) return refusal('empty', 0, 'no body')
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return refusal('bom', 0, 'a byte order mark')
  }
  if (!isUtf8(bytes)) return refusal('encoding', firstInvalidUtf8(bytes), 'not UTF-8')
  const scanned = scanJsonObject(bytes, REQUEST_RULES)
  if ('code' in scanned) return fromJsonFault(bytes, scanned)
  const { members, itemStarts } = scanned
  const body: ScannedBody = { ok: true, bytes, members, itemStarts }
  return (
    disguisedKey(bytes, scanned.oddKeys, GUARDED_MEMBERS) ?? disguisedStreamOption(body) ?? body
  )
}

/**
 * Reads an upstream's JSON response and tolerates duplicate keys: the last one counts, as in every
 * client. Null if it is not a JSON object.
 */
export function scanAnswer(bytes: Buffer): ScannedBody | null {
  const scanned = scanJsonObject(bytes, ANSWER_RULES)
  if ('code' in scanned) return null
  const { members, itemStarts } = scanned
  return { ok: true, bytes, members, itemStarts }
}

/** Range of a top-level member's value, or null if absent. Names are ASCII. */
export function memberRange(body: ScannedBody, name: string): ByteRange | null {
  const at = memberIndex(body, name)
  if (at < 0) return null
  return { start: body.members[at + 2] ?? 0, end: body.members[at + 3] ?? 0 }
}

/** Raw bytes of the value, not copied; null if the member is absent. */
export function memberBytes(body: ScannedBody, name: string): Buffer | null {
  const range = memberRange(body, name)
  return range && body.bytes.subarray(range.start, range.end)
}

/** Parsed value; undefined if the member is absent, null if it is `null`. */
export function memberValue(body: ScannedBody, name: string): unknown {
  const range = memberRange(body, name)
  return range ? JSON.parse(body.bytes.toString('utf8', range.start, range.end)) : undefined
}

/** Parsed value for writing it again: long integers keep their digits (`json-value.ts`). */
export function memberToWrite(body: ScannedBody, name: string): unknown {
  const bytes = memberBytes(body, name)
  return bytes === null ? undefined : parseJson(bytes.toString('utf8'))
}

/** Start of the first elements of a top-level list; empty if it is empty or not a list. */
export function itemsOf(body: ScannedBody, { start, end }: ByteRange): number[] {
  return body.itemStarts.filter((at) => at > start && at < end)
}

/** Offset into `members` of the last member of that name, or -1. */
export function memberIndex(body: ScannedBody, name: string): number {
  const { bytes, members } = body
  for (let at = members.length - MEMBER_STRIDE; at >= 0; at -= MEMBER_STRIDE) {
    const start = members[at] ?? 0
    if ((members[at + 1] ?? 0) - start === name.length && spells(bytes, start, name)) return at
  }
  return -1
}

/**
 * A member that is itself an object, as a body of its own: offsets count from its opening brace.
 * Null if it is absent or not an object.
 */
export function memberObject(body: ScannedBody, name: string): ScannedBody | null {
  const bytes = memberBytes(body, name)
  return bytes && scanAnswer(bytes)
}

function spells(bytes: Buffer, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    if (bytes[start + i] !== name.charCodeAt(i)) return false
  }
  return true
}

function refusal(code: BodyFaultCode, offset: number, reason: string, key = ''): BodyFault {
  return { ok: false, code, offset, reason, key }
}

function fromJsonFault(bytes: Buffer, fault: JsonFault): BodyFault {
  if (fault.code !== 'duplicate-key' && fault.code !== 'disguised-key') {
    return refusal(fault.code, fault.offset, fault.reason)
  }
  // The fault is at the first byte inside the quotes, and the key is known to end.
  let end = fault.offset
  while (bytes[end] !== 0x22) end += bytes[end] === 0x5c ? 2 : 1
  return refusal(fault.code, fault.offset, fault.reason, keyText(bytes, fault.offset, end))
}

/**
 * Folds case as the most lenient parser does. Upper case first: only that maps the long s and the
 * Kelvin sign to the letters that Unicode folding gives them.
 */
const folded = (key: string) => key.toUpperCase().toLowerCase()

/** Returns the first key that equals a guarded one only after case folding. */
function disguisedKey(
  bytes: Buffer,
  oddKeys: ScannedObject['oddKeys'],
  guarded: ReadonlySet<string>,
): BodyFault | null {
  for (let i = 0; i < oddKeys.length; i += 2) {
    const start = oddKeys[i] ?? 0
    const end = oddKeys[i + 1] ?? 0
    const key = keyText(bytes, start, end)
    if (!SECOND_SPELLINGS.has(key) && guarded.has(folded(key))) {
      return refusal('disguised-key', start, 'another spelling of a known key', key)
    }
  }
  return null
}

function disguisedStreamOption(body: ScannedBody): BodyFault | null {
  const range = memberRange(body, 'stream_options')
  if (range === null || body.bytes[range.start] !== 0x7b) return null
  const bytes = body.bytes.subarray(range.start, range.end)
  const scanned = scanJsonObject(bytes, ANSWER_RULES)
  if ('code' in scanned) return null
  const fault = disguisedKey(bytes, scanned.oddKeys, GUARDED_STREAM_OPTIONS)
  return fault && { ...fault, offset: fault.offset + range.start }
}

/** Only called when the bytes are known to be ill-formed. */
function firstInvalidUtf8(bytes: Buffer): number {
  const text = bytes.toString('utf8')
  let offset = 0
  let from = 0
  for (;;) {
    const at = text.indexOf('\ufffd', from)
    if (at < 0) return offset
    offset += Buffer.byteLength(text.slice(from, at))
    const isGenuine =
      bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
    if (!isGenuine) return offset
    offset += 3
    from = at + 1
  }
}
