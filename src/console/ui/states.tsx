import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useOnItsWay } from './on-its-way.ts'
import { leaveFocusBehind } from './table/focus-after.ts'
import styles from './states.module.css'

/** Nothing here yet: one sentence, and the one action that ends the emptiness. */
export function Empty({ sentence, action }: { sentence: string; action?: ReactNode }) {
  return (
    <div className={styles['empty']}>
      <p>{sentence}</p>
      {action !== undefined && <div ref={leaveFocusBehind}>{action}</div>}
    </div>
  )
}

interface LoadErrorProps {
  /** What could not be loaded. */
  what: string
  error: Error
  onRetry: () => void
  /** No toast has said it. */
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

/** Stands for a text that is on its way; `width` in pixels. */
export function Skeleton({ width = 64 }: { width?: number }) {
  useOnItsWay()
  // React types know no custom properties; this one is read by the class.
  const style = { '--skeleton-width': `${width}px` } as React.CSSProperties
  return <span className={styles['skeleton']} style={style} data-loading aria-hidden="true" />
}
