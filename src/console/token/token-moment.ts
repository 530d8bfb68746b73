import { useEffect, useState } from 'react'
import type { Token } from '../../contract/token-api.ts'
import { nowSeconds } from '../app/time.ts'

/** Maximum delay of a timer, far below the limit of `setTimeout`. */
const WAIT_MS_MAX = 86_400_000

/** Time for which the states of tokens are displayed; it advances when the next one expires. */
export function useMoment(tokens: readonly Token[]): number {
  const [moment, setMoment] = useState(nowSeconds)
  useEffect(() => {
    // Only a time in the future counts: -1 means never.
    const ends = tokens.map((token) => token.expired_time).filter((end) => end >= moment)
    if (ends.length === 0) return undefined
    const ms = (Math.min(...ends) + 1) * 1000 - Date.now()
    const timer = setTimeout(() => setMoment(nowSeconds()), Math.min(Math.max(ms, 0), WAIT_MS_MAX))
    return () => clearTimeout(timer)
  }, [tokens, moment])
  return moment
}
