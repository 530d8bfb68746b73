import { keysOf, keyTail } from '../../../contract/channel-keys.ts'
import { sha256 } from '../../secrets.ts'

/** One of a channel's keys. */
export interface HeldKey {
  /** Identifies the key without revealing it: the beginning of its SHA-256. */
  id: string
  key: string
  /** Its last characters, for display. */
  tail: string
}

const ID_LENGTH = 16

/** Returns a channel's keys in order. */
export const heldKeys = ({ type, key }: { type: number; key: string }): HeldKey[] =>
  keysOf(type, key).map((one) => ({
    id: sha256(one).slice(0, ID_LENGTH),
    key: one,
    tail: keyTail(one),
  }))
