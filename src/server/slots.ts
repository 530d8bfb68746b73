import { setTimeout as passed } from 'node:timers/promises'

/**
 * Things that come and go all the time, such as the calls under way. A `Set` would do, but it keeps
 * what has left it alive: it moves to a new table every few dozen deletions, and V8's abandoned
 * table goes on pointing at the new one and at what was in it. Once such a table is old, everything
 * that passes through the set outlives the collections of the young generation: a third of the
 * processor time of a relayed call. Here a place is taken, emptied and taken again.
 */
export class Slots<T> {
  readonly #items: (T | null)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** The place it has got, by which it is found and removed; places are taken again. */
  add(item: T): number {
    const slot = this.#free.pop() ?? this.#items.length
    this.#items[slot] = item
    return slot
  }

  /** Empties a place and gives what was there; null when it was empty. */
  take(slot: number): T | null {
    const item = this.#items[slot] ?? null
    if (item === null) return null
    this.#items[slot] = null
    this.#free.push(slot)
    return item
  }

  /** What is there at this moment. */
  all(): T[] {
    return this.#items.filter((item) => item !== null)
  }

  /** Empties every place. */
  takeAll(): T[] {
    const items = this.all()
    this.#items.length = 0
    this.#free.length = 0
    return items
  }
}

const POLL_MS = 20

/** Waits until nothing is left in a collection, for so long at the most. */
export async function untilEmpty(items: { readonly size: number }, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs
  while (items.size > 0 && performance.now() < end) await passed(POLL_MS)
}
