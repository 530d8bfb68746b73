import { useTranslation } from 'react-i18next'
import { useLoadingMarker } from './loading-marker.ts'
import styles from './states.module.css'

/** Placeholder for content that is loading, with a fixed height. */
export function Loading({ prompt }: { prompt?: string }) {
  const { t } = useTranslation()
  useLoadingMarker()
  return (
    <output className={styles['loading']} data-loading>
      {t('正在加载{{prompt}}…', { prompt: prompt ?? t('页面') })}
    </output>
  )
}
