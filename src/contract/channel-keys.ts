import { channelType } from './channel-types.ts'

/**
 * How a channel may hold several keys: one a line in its key column. Types whose key is composed of
 * form fields hold one, whatever its lines: the credentials in it may be JSON as people paste it.
 */

export const mayHoldSeveralKeys = (type: number): boolean =>
  channelType(type).key.composedOf.length === 0

/** The lines that hold a key, trimmed, in order; repetitions stay. */
export const keyLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The keys that a channel of this type holds, each once, in order. */
export function keysOf(type: number, text: string): string[] {
  if (mayHoldSeveralKeys(type)) return [...new Set(keyLines(text))]
  const key = text.trim()
  return key === '' ? [] : [key]
}

/** Shorter keys would be half told by their end. */
const TOLD_LENGTH_MIN = 12
const TAIL_LENGTH = 4

/** What tells a key from others without giving it away: its last characters, if it is long. */
export const keyTail = (key: string): string =>
  key.length < TOLD_LENGTH_MIN ? '…' : `…${key.slice(-TAIL_LENGTH)}`
