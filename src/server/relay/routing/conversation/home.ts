/**
 * Assigns a name to one of several places by weighted rendezvous hashing. Every process with the
 * same list of places computes the same result without communication. Names are distributed by the
 * places' shares, and if a place is added or removed only the names that it gains or loses move.
 * Source: Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", SPAA 2005.
 */
export interface Places<P> {
  /** Identifies a place by a whole number below 2^32. */
  numberOf(place: P): number
  /**
   * Share of the place. A place with share 0 is never returned; the caller handles the case that no
   * other is left.
   */
  shareOf(place: P): number
}

/** Returns the place for `name`, a hash in hexadecimal digits; null if no place has a share. */
export function homeOf<P>(
  name: string,
  places: readonly P[],
  { numberOf, shareOf }: Places<P>,
): P | null {
  const high = parseInt(name.slice(0, 8), 16)
  const low = parseInt(name.slice(8, 16), 16)
  let home: P | null = null
  let best = Infinity
  for (const place of places) {
    const share = shareOf(place)
    if (share <= 0) continue
    const drawn = mixed(mixed(numberOf(place) ^ high) ^ low)
    // The minimum of exponentially distributed times whose rates are the shares.
    const time = -Math.log((drawn + 0.5) / 2 ** 32) / share
    if (time >= best) continue
    home = place
    best = time
  }
  return home
}

/** The final mix of MurmurHash3: every output bit depends on every input bit. */
function mixed(number: number): number {
  let bits = number
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
