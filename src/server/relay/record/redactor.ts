import { ACCOUNTS } from '../../channel/secrets.ts'
import { redacted } from '../../log/body/body.ts'

/** Shorter texts also occur elsewhere: masking them would destroy a body and protect nothing. */
const SECRET_LENGTH_MIN = 4
/** Base64 of a secret inside a longer text: its last characters depend on the text that follows. */
const BASE64_TAIL = 4

const EMAIL =
  /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}(?:@|%40|\\u0040)[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu

/** Members of requests and responses that name a person or an account. */
const ACCOUNT_MEMBER =
  /(\\?"(?:user|user_?id|end_?user|safety_identifier|account(?:_?id)?|organi[sz]ation(?:_?id)?|org_?id|project(?:_?id)?|tenant(?:_?id)?|customer(?:_?id)?|workspace(?:_?id)?|email)\\?"\s*:\s*\\?")[^"\\]{1,400}/gi

/** Path segments that are followed by an account. */
const ACCOUNT_SEGMENT =
  /(\/(?:accounts?|projects|subscriptions|tenants|organi[sz]ations|workspaces|resourceGroups|users)\/)[^/?#\s"']+/gi

const mask = (secret: string): string => 'x'.repeat(Buffer.byteLength(secret))

const maskGroup = (text: string, pattern: RegExp): string =>
  text.replace(pattern, (match: string, before: unknown) =>
    typeof before === 'string' ? before + mask(match.slice(before.length)) : mask(match),
  )

/**
 * Masks secrets in the recording of one call: known secrets (keys, credentials, host names, email
 * addresses of the call and its channel) in every spelling, and texts that look like secrets. A
 * mask repeats `x` and has as many bytes as the secret, so that lengths and the boundaries of
 * pieces stay valid.
 */
export class Redactor {
  private readonly spellings: readonly string[]

  constructor(secrets: Iterable<string>) {
    const all = new Set<string>()
    for (const secret of secrets) for (const spelling of spellingsOf(secret)) all.add(spelling)
    // The longest secret comes first, since one may contain another.
    this.spellings = [...all].toSorted((one, other) => other.length - one.length)
  }

  text(text: string): string {
    let clean = this.withoutKnown(text)
    clean = redacted(clean, mask)
    clean = maskGroup(clean, EMAIL)
    clean = maskGroup(clean, ACCOUNT_MEMBER)
    for (const [pattern] of ACCOUNTS) clean = maskGroup(clean, pattern)
    return maskGroup(clean, ACCOUNT_SEGMENT)
  }

  /**
   * Returns the body with its secrets masked, of the same length; null if a secret is spelled or
   * spread over events in a way that cannot be masked in place.
   */
  body(bytes: Buffer): Buffer | null {
    const text = bytes.toString('utf8')
    if (!Buffer.from(text).equals(bytes)) return this.binary(bytes)
    const clean = this.events(this.text(text))
    if (clean === null || this.holdsKnown(clean)) return null
    return Buffer.from(clean)
  }

  /** Whether a text still contains a known secret, also in escaped form. */
  holdsKnown(text: string): boolean {
    const plain = unescaped(text)
    return this.withoutKnown(text) !== text || this.withoutKnown(plain) !== plain
  }

  private withoutKnown(text: string): string {
    return this.spellings.reduce(
      (done, spelling) => done.replaceAll(spelling, () => mask(spelling)),
      text,
    )
  }

  /** Masks secrets in binary data, such as a form with files or Amazon's event stream. */
  private binary(bytes: Buffer): Buffer | null {
    const latin1 = bytes.toString('latin1')
    const known = this.spellings.reduce((done, spelling) => {
      const encoded = Buffer.from(spelling).toString('latin1')
      return done.replaceAll(encoded, () => 'x'.repeat(encoded.length))
    }, latin1)
    // The patterns match ASCII only: every character stays one byte.
    const clean = known.replace(ASCII_RUNS, (run) => this.text(run))
    return this.holdsKnown(clean) ? null : Buffer.from(clean, 'latin1')
  }

  /**
   * Masks secrets that only appear when JSON is parsed: with escapes inside a string, or spread
   * over several events of a stream. Changed events are padded with blanks; null if one would
   * become longer.
   */
  private events(text: string): string | null {
    const lines = text.split('\n')
    const whole = parsed(text)
    const values = whole === undefined ? lines.map(eventIn) : [whole]
    const leaves = new Map<string, Leaf[]>()
    values.forEach((value, line) => collect(value, { line, path: '', leaves }))
    const changed = new Map<number, Map<string, string>>()
    for (const parts of leaves.values()) {
      const joined = parts.map((part) => part.text).join('')
      const clean = this.text(joined)
      if (clean === joined) continue
      const ascii = clean.length === joined.length ? clean : mask(joined).slice(0, joined.length)
      let from = 0
      for (const part of parts) {
        const masked = ascii.slice(from, from + part.text.length)
        from += part.text.length
        if (masked === part.text) continue
        const ofLine = changed.get(part.line) ?? new Map<string, string>()
        changed.set(part.line, ofLine.set(part.path, masked))
      }
    }
    if (changed.size === 0) return text
    const written = (whole === undefined ? lines : [text]).map((line, at) => {
      const edits = changed.get(at)
      return edits === undefined ? line : rewritten(line, values[at], edits)
    })
    return written.includes(null) ? null : written.join('\n')
  }
}

const ASCII_RUNS = /[\t\n\r -~]{4,}/g

function spellingsOf(secret: string): string[] {
  const plain = secret.trim()
  if (plain.length < SECRET_LENGTH_MIN) return []
  const json = JSON.stringify(plain).slice(1, -1)
  const base64 = Buffer.from(plain).toString('base64').replaceAll('=', '')
  const spellings = [
    plain,
    encodeURIComponent(plain.toWellFormed()),
    json,
    json.replaceAll('/', String.raw`\/`),
    base64.slice(0, -BASE64_TAIL),
  ]
  return spellings.filter((spelling) => spelling.length >= SECRET_LENGTH_MIN)
}

/** Returns the text with JSON escapes and percent encoding roughly decoded, for searching only. */
const unescaped = (text: string): string =>
  text
    .replace(/\\u([\da-f]{4})/gi, (_match, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replaceAll('\\', '')
    .replace(/%([2-7][\da-f])/gi, (_match, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )

interface Leaf {
  line: number
  path: string
  text: string
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const DATA = /^(?:data:)?\s*/

/**
 * Parses the JSON of a line of server-sent events or NDJSON; undefined if the line contains no
 * JSON.
 */
const eventIn = (line: string): unknown =>
  /^(?:data:)?\s*[[{"]/.test(line) ? parsed(line.replace(DATA, '')) : undefined

/** Collects all strings of a value by their path, in the order of the lines. */
function collect(
  value: unknown,
  at: { line: number; path: string; leaves: Map<string, Leaf[]> },
): void {
  if (typeof value === 'string') {
    const before = at.leaves.get(at.path)
    const leaf = { line: at.line, path: at.path, text: value }
    if (before === undefined) at.leaves.set(at.path, [leaf])
    else before.push(leaf)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    collect(member, { ...at, path: `${at.path}/${name}` })
  }
}

/** Returns the line with some strings replaced and the same length; null if that is impossible. */
function rewritten(
  line: string,
  value: unknown,
  edits: ReadonlyMap<string, string>,
): string | null {
  const json = JSON.stringify(edited(value, '', edits))
  const [head = ''] = DATA.exec(line) ?? []
  const end = line.endsWith('\r') ? '\r' : ''
  const missing = Buffer.byteLength(line) - Buffer.byteLength(head + json + end)
  return missing < 0 ? null : head + json + ' '.repeat(missing) + end
}

function edited(value: unknown, path: string, edits: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return edits.get(path) ?? value
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    edited(member, `${path}/${name}`, edits),
  ])
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members)
}
