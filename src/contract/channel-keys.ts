import { channelType } from './channel-types.ts'

/**
 * Whether a channel of this type may hold several keys, one per line. A key composed of form fields
 * is always a single one, regardless of its lines: it may contain JSON with line breaks.
 */

export const mayHoldSeveralKeys = (type: number): boolean =>
  channelType(type).key.composedOf.length === 0

/** Lines that contain a key, trimmed, in order, with duplicates. */
export const keyLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Keys of a channel of this type, in order, without duplicates. */
export function keysOf(type: number, text: string): string[] {
  if (mayHoldSeveralKeys(type)) return [...new Set(keyLines(text))]
  const key = text.trim()
  return key === '' ? [] : [key]
}

/** The tail of a shorter key would reveal too much of it. */
const TAIL_KEY_LENGTH_MIN = 12
const TAIL_LENGTH = 4

/** Identifies a key without revealing it: its last characters, or only `…` for a short key. */
export const keyTail = (key: string): string =>
  key.length < TAIL_KEY_LENGTH_MIN ? '…' : `…${key.slice(-TAIL_LENGTH)}`
