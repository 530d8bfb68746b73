import { useEffect, useState } from 'react'

/** Seconds until a mail can be requested again. */
const RESEND_SECONDS = 30

type Mail = 'code' | 'reset'

/** When each mail can be requested again, as `performance.now()`. Survives closing the dialog. */
const readyAt: Record<Mail, number> = { code: 0, reset: 0 }
const secondsUntil = (mail: Mail): number =>
  Math.max(0, Math.round((readyAt[mail] - performance.now()) / 1000))

/** Counts down to 0 in seconds. */
export function useCountdown(mail: Mail): [secondsLeft: number, start: () => void] {
  const [secondsLeft, setSecondsLeft] = useState(() => secondsUntil(mail))
  const isRunning = secondsLeft > 0
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setSecondsLeft(secondsUntil(mail)), 1000)
    return () => clearInterval(timer)
  }, [isRunning, mail])
  const start = () => {
    readyAt[mail] = performance.now() + RESEND_SECONDS * 1000
    setSecondsLeft(RESEND_SECONDS)
  }
  return [secondsLeft, start]
}
