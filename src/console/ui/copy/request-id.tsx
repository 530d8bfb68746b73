import { useTranslation } from 'react-i18next'
import { CopyButton } from './copy-button.tsx'
import styles from './request-id.module.css'

/** Request id with a copy button. */
export function RequestId({ id }: { id: string }) {
  const { t } = useTranslation()
  return (
    <span className={styles['requestId']}>
      <code>{id}</code>
      <CopyButton text={id} label={t('复制')} />
    </span>
  )
}
