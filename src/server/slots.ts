import { setTimeout as passed } from 'node:timers/promises'

/**
 * A collection for items that are added and removed constantly, such as running calls. A `Set`
 * keeps removed items alive: it moves to a new table every few dozen deletions, and V8's abandoned
 * table still points to the new one and its items. After such a table is promoted to the old
 * generation, every item that passes through the set survives young-generation collections, which
 * costs a third of the CPU time of a relayed call. Here slots are reused.
 */
export class Slots<T> {
  readonly #items: (T | null)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** Adds an item and returns its slot, by which it is removed; slots are reused. */
  add(item: T): number {
    const slot = this.#free.pop() ?? this.#items.length
    this.#items[slot] = item
    return slot
  }

  /** Empties a slot and returns its item; null if it was empty. */
  take(slot: number): T | null {
    const item = this.#items[slot] ?? null
    if (item === null) return null
    this.#items[slot] = null
    this.#free.push(slot)
    return item
  }

  /** Returns the current items. */
  all(): T[] {
    return this.#items.filter((item) => item !== null)
  }

  /** Empties all slots and returns their items. */
  takeAll(): T[] {
    const items = this.all()
    this.#items.length = 0
    this.#free.length = 0
    return items
  }
}

const POLL_MS = 20

/** Waits until a collection is empty, up to a time limit. */
export async function untilEmpty(items: { readonly size: number }, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs
  while (items.size > 0 && performance.now() < end) await passed(POLL_MS)
}
