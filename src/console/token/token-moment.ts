import { useEffect, useState } from 'react'
import type { Token } from '../../contract/token-api.ts'
import { nowSeconds } from '../app/time.ts'

/** Timers count no further than some weeks; nobody looks at a list for that long. */
const WAIT_MS_MAX = 86_400_000

/** The moment that the states of tokens are told for; it moves on when the next one expires. */
export function useMoment(tokens: readonly Token[]): number {
  const [moment, setMoment] = useState(nowSeconds)
  useEffect(() => {
    // None but a moment that is still to come counts: never is -1.
    const ends = tokens.map((token) => token.expired_time).filter((end) => end >= moment)
    if (ends.length === 0) return undefined
    const ms = (Math.min(...ends) + 1) * 1000 - Date.now()
    const timer = setTimeout(() => setMoment(nowSeconds()), Math.min(Math.max(ms, 0), WAIT_MS_MAX))
    return () => clearTimeout(timer)
  }, [tokens, moment])
  return moment
}
