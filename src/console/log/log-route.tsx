import { useTranslation } from 'react-i18next'
import type { RouteTrace } from '../../contract/route-api.ts'
import { TraceLists } from '../app/route/route-lists.tsx'
import { PanelPart } from '../ui/float/side-panel.tsx'
import styles from './log.module.css'

/** How the call was routed; most calls need no explanation. */
export function LogRoute({ route }: { route: RouteTrace | null }) {
  const { t } = useTranslation()
  return (
    <PanelPart title={t('路由过程')}>
      {route === null ? (
        <p className={styles['quiet']}>{t('首选的渠道直接响应，没有重试')}</p>
      ) : (
        <TraceLists trace={route} />
      )}
    </PanelPart>
  )
}
