import { memberIndex, memberRange, memberValue, scanAnswer, type ScannedBody } from './body-scan.ts'
import { MEMBER_STRIDE } from '../../json/json-scan.ts'

/**
 * Changes members of a scanned body and leaves every other byte as the client wrote it: order,
 * spaces, number spellings and unknown members reach the upstream unchanged.
 *
 * At most one edit per member (and per member inside a member). `json` is JSON text, as
 * `JSON.stringify` returns it.
 */
export type MemberEdit =
  /** Replaces the value, or appends the member. */
  | { set: string; json: string }
  /** Sets a member inside an object member; an absent or `null` outer member becomes an object. */
  | { set: string; inside: string; json: string }
  | { remove: string }

/** Renames a member; if the other name already has a value, that value stays. */
export function renamed(body: ScannedBody, from: string, to: string): MemberEdit[] {
  const value = memberValue(body, from) ?? null
  if (memberRange(body, from) === null) return []
  const isThere = (memberValue(body, to) ?? null) !== null
  const set = value === null || isThere ? [] : [{ set: to, json: JSON.stringify(value) }]
  return [{ remove: from }, ...set]
}

/** Replaces bytes `start` to `end` with `text`. */
interface ByteEdit {
  start: number
  end: number
  text: string
}

export function splice(body: ScannedBody, edits: readonly MemberEdit[]): Buffer {
  const byteEdits: ByteEdit[] = []
  const removed = new Set<number>()
  let appended = ''
  for (const edit of edits) {
    if ('remove' in edit) {
      const at = memberIndex(body, edit.remove)
      if (at >= 0) removed.add(at)
    } else {
      const outer = 'inside' in edit ? edit.inside : edit.set
      const at = memberIndex(body, outer)
      if (at >= 0) byteEdits.push(...setExisting(body, at, edit))
      else appended += `,${JSON.stringify(outer)}:${newValue(edit)}`
    }
  }
  if (removed.size > 0) byteEdits.push(...removals(body.members, removed))
  if (appended !== '') byteEdits.push(appending(body, removed, appended))
  return applyEdits(body.bytes, byteEdits)
}

type SetEdit = Exclude<MemberEdit, { remove: string }>

const newValue = (edit: SetEdit): string =>
  'inside' in edit ? `{${JSON.stringify(edit.set)}:${edit.json}}` : edit.json

/** An outer member that is neither object nor `null` is unchanged, for the upstream to reject. */
function setExisting(body: ScannedBody, at: number, edit: SetEdit): ByteEdit[] {
  const start = body.members[at + 2] ?? 0
  const end = body.members[at + 3] ?? 0
  if (!('inside' in edit)) return [{ start, end, text: edit.json }]
  const value = body.bytes.subarray(start, end)
  if (value.equals(NULL)) return [{ start, end, text: newValue(edit) }]
  const inner = scanAnswer(value)
  if (inner === null) return []
  const innerAt = memberIndex(inner, edit.set)
  if (innerAt >= 0) {
    return [
      {
        start: start + (inner.members[innerAt + 2] ?? 0),
        end: start + (inner.members[innerAt + 3] ?? 0),
        text: edit.json,
      },
    ]
  }
  const added = appending(inner, new Set(), `,${JSON.stringify(edit.set)}:${edit.json}`)
  return [{ start: start + added.start, end: start + added.end, text: added.text }]
}

const NULL = Buffer.from('null')

/**
 * Inserts after the last member that stays; without one, right after the opening brace and without
 * the comma.
 */
function appending(body: ScannedBody, removed: ReadonlySet<number>, text: string): ByteEdit {
  for (let at = body.members.length - MEMBER_STRIDE; at >= 0; at -= MEMBER_STRIDE) {
    if (removed.has(at)) continue
    const end = body.members[at + 3] ?? 0
    return { start: end, end, text }
  }
  const open = body.bytes.indexOf(0x7b) + 1
  return { start: open, end: open, text: text.slice(1) }
}

/**
 * Removes adjacent members as one run, with the comma that joined them to a member that stays: the
 * one before if there is one, else the one after.
 */
function removals(members: readonly number[], removed: ReadonlySet<number>): ByteEdit[] {
  const edits: ByteEdit[] = []
  for (let at = 0; at < members.length; at += MEMBER_STRIDE) {
    if (!removed.has(at)) continue
    const first = at
    while (removed.has(at + MEMBER_STRIDE)) at += MEMBER_STRIDE
    const keyStart = (members[first] ?? 0) - 1
    const valueEnd = members[at + 3] ?? 0
    const next = members[at + MEMBER_STRIDE]
    if (first > 0) edits.push({ start: members[first - 1] ?? 0, end: valueEnd, text: '' })
    else if (next !== undefined) edits.push({ start: keyStart, end: next - 1, text: '' })
    else edits.push({ start: keyStart, end: valueEnd, text: '' })
  }
  return edits
}

function applyEdits(bytes: Buffer, edits: ByteEdit[]): Buffer {
  // An insertion at the start of a removal goes first.
  edits.sort((a, b) => a.start - b.start || a.end - b.end)
  let length = bytes.length
  for (const edit of edits) length += Buffer.byteLength(edit.text) - (edit.end - edit.start)
  const out = Buffer.allocUnsafe(length)
  let from = 0
  let to = 0
  for (const edit of edits) {
    if (edit.start < from) throw new Error('two edits of one member')
    to += bytes.copy(out, to, from, edit.start)
    to += out.write(edit.text, to)
    from = edit.end
  }
  bytes.copy(out, to, from)
  return out
}
