import { useEffect, useState } from 'react'

/** Seconds until a mail may be asked for again. */
const RESEND_SECONDS = 30

/** Counts down to 0, one a second. */
export function useCountdown(): [secondsLeft: number, start: () => void] {
  const [secondsLeft, setSecondsLeft] = useState(0)
  const isRunning = secondsLeft > 0
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setSecondsLeft((seconds) => seconds - 1), 1000)
    return () => clearInterval(timer)
  }, [isRunning])
  return [secondsLeft, () => setSecondsLeft(RESEND_SECONDS)]
}
