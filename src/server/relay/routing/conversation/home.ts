/**
 * Where a name is at home: one of several places, by weighted rendezvous hashing. Every process
 * that knows the same places finds the same one without asking another, names are spread by the
 * places' shares, and when a place comes or goes only the names move that it has won or lost.
 * Source: Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", SPAA 2005.
 */
export interface Places<P> {
  /** Names a place by a whole number below 2^32. */
  numberOf(place: P): number
  /** 0: only where all others are gone, which is the caller's to find out. */
  shareOf(place: P): number
}

/** `name`: a hash in hexadecimal digits. Null: there is no place with a share. */
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
    // The first of exponential times whose rates are the shares.
    const time = -Math.log((drawn + 0.5) / 2 ** 32) / share
    if (time >= best) continue
    home = place
    best = time
  }
  return home
}

/** The last steps of MurmurHash3: every bit of the answer depends on every bit of the number. */
function mixed(number: number): number {
  let bits = number
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
