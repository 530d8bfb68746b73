import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useLoadingMarker } from './loading-marker.ts'
import { leaveFocusBehind } from './table/focus-after.ts'
import styles from './states.module.css'

/** Empty state: one sentence, and the action that changes it. */
export function Empty({ sentence, action }: { sentence: string; action?: ReactNode }) {
  return (
    <div className={styles['empty']}>
      <p>{sentence}</p>
      {action !== undefined && <div ref={leaveFocusBehind}>{action}</div>}
    </div>
  )
}

interface LoadErrorProps {
  /** Name of what could not be loaded. */
  what: string
  error: Error
  onRetry: () => void
  /** Announced as an alert, because no toast did. */
  isAlert?: boolean
}

export function LoadError({ what, error, onRetry, isAlert = false }: LoadErrorProps) {
  const { t } = useTranslation()
  return (
    <div className={styles['failure']} role={isAlert ? 'alert' : undefined}>
      <strong>{t('{{what}}加载失败', { what })}</strong>
      <p>{error.message}</p>
      <Button variant="default" size="xs" onClick={onRetry}>
        {t('重试')}
      </Button>
    </div>
  )
}

/** Placeholder for a text that is loading; `width` in pixels. */
export function Skeleton({ width = 64 }: { width?: number }) {
  useLoadingMarker()
  // React's types have no custom properties; the class reads this one.
  const style = { '--skeleton-width': `${width}px` } as React.CSSProperties
  return <span className={styles['skeleton']} style={style} data-loading aria-hidden="true" />
}
