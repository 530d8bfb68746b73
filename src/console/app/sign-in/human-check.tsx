import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { currentLanguage, mark } from '../i18n.ts'
import { useStatus } from '../status.ts'
import { toast } from '../toast.ts'
import styles from './sign-in.module.css'

/** The part of Cloudflare's Turnstile API that we use. */
interface Turnstile {
  render(place: HTMLElement, settings: Record<string, unknown>): string | undefined
  reset(widget: string): void
  remove(widget: string): void
}

declare global {
  interface Window {
    turnstile?: Turnstile
  }
}

const PUBLIC_BASE = 'https://challenges.cloudflare.com'
const NOT_YET = mark('人机验证尚未完成，请过几秒再试')
const SCRIPT_PATH = '/turnstile/v0/api.js?render=explicit'

let loading: Promise<Turnstile> | null = null

/** Loads the script once, when a page shows the widget. */
function loadTurnstile(base: string): Promise<Turnstile> {
  loading ??= new Promise<Turnstile>((resolve, reject) => {
    const script = document.createElement('script')
    script.src = base + SCRIPT_PATH
    script.async = true
    script.addEventListener('load', () => {
      if (window.turnstile === undefined) reject(new Error('no widget came'))
      else resolve(window.turnstile)
    })
    script.addEventListener('error', () => reject(new Error('the script did not load')))
    document.head.append(script)
  }).catch((error: unknown) => {
    loading = null
    throw error
  })
  return loading
}

export interface HumanCheck {
  /** The server requires a check with the form. */
  isOn: boolean
  /** Token from the widget; `''` before it is solved or if the check is off. */
  answer: string
  /** False, with a warning, while the check is on and not solved. */
  isPassed: () => boolean
  /** Resets the widget: each token can be used once. */
  again: () => void
  /** Ref for the widget's container. */
  attach: (place: HTMLElement | null) => void
  hasFailed: boolean
  /** The user tried to continue before the check was solved. */
  isWaitedFor: boolean
}

/** The human check of a form, if the installation has one. */
export function useHumanCheck(): HumanCheck {
  const { t } = useTranslation()
  const status = useStatus()
  const isOn = status.turnstile_check === true
  const [answer, setAnswer] = useState('')
  const [hasFailed, setHasFailed] = useState(false)
  const [isWaitedFor, setIsWaitedFor] = useState(false)
  const [place, setPlace] = useState<HTMLElement | null>(null)
  const [widget, setWidget] = useState<string>()
  const sitekey = status.turnstile_site_key ?? ''
  const base = status.gatehouse?.turnstile_url ?? PUBLIC_BASE
  useEffect(() => {
    if (!isOn || place === null) return
    let isGone = false
    let drawn: string | undefined
    loadTurnstile(base).then(
      (turnstile) => {
        if (isGone) return
        drawn = turnstile.render(place, {
          sitekey,
          language: currentLanguage() === 'zh' ? 'zh-cn' : 'en',
          theme:
            document.documentElement.dataset['mantineColorScheme'] === 'dark' ? 'dark' : 'light',
          callback: (given: string) => {
            setHasFailed(false)
            setIsWaitedFor(false)
            setAnswer(given)
          },
          'expired-callback': () => setAnswer(''),
          'error-callback': () => setHasFailed(true),
        })
        setWidget(drawn)
      },
      () => setHasFailed(true),
    )
    return () => {
      isGone = true
      if (drawn !== undefined) window.turnstile?.remove(drawn)
    }
  }, [isOn, place, base, sitekey])
  const isPassed = () => {
    if (!isOn || answer !== '') return true
    setIsWaitedFor(true)
    toast.warning(t(NOT_YET))
    return false
  }
  const again = () => {
    setAnswer('')
    if (widget !== undefined) window.turnstile?.reset(widget)
  }
  return { isOn, answer, isPassed, again, attach: setPlace, hasFailed, isWaitedFor }
}

/** Container of the widget. */
export function HumanCheckField({ check }: { check: HumanCheck }) {
  const { t } = useTranslation()
  const { isOn, attach, hasFailed, isWaitedFor } = check
  if (!isOn) return null
  return (
    <div>
      <div ref={attach} className={styles['humanCheck']} />
      {hasFailed && (
        <p role="alert" className={styles['problem']}>
          {t('人机验证加载失败，请检查网络后刷新页面')}
        </p>
      )}
      {/* Repeated here because a toast is behind a dialog. */}
      {isWaitedFor && !hasFailed && <p className={styles['problem']}>{t(NOT_YET)}</p>}
    </div>
  )
}
