import { keysOf, keyTail } from '../../../contract/channel-keys.ts'
import { sha256 } from '../../secrets.ts'

/** One of the keys that a channel holds. */
export interface HeldKey {
  /** Names it where the key itself must not stand: the beginning of its SHA-256. */
  id: string
  key: string
  /** Its last characters, for people. */
  tail: string
}

const ID_LENGTH = 16

/** In their order. */
export const heldKeys = ({ type, key }: { type: number; key: string }): HeldKey[] =>
  keysOf(type, key).map((one) => ({
    id: sha256(one).slice(0, ID_LENGTH),
    key: one,
    tail: keyTail(one),
  }))
