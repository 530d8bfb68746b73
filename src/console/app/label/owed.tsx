import { useTranslation } from 'react-i18next'
import { useCostText, useQuotaText } from '../status.ts'
import styles from './owed.module.css'

/** A balance. Marked as debt below zero. */
export function Balance({ quota }: { quota: number }) {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  if (quota >= 0) return quotaText(quota)
  return (
    <span className={styles['owed']} title={t('欠费，下一次充值会先抵扣')}>
      {quotaText(quota)}
    </span>
  )
}

/** The debt of an account with an explanation; nothing for a balance of zero or more. */
export function OwedNote({ quota }: { quota: number }) {
  const { t } = useTranslation()
  const costText = useCostText()
  if (quota >= 0) return null
  return (
    <p className={styles['owed']}>
      {t('欠费 {{amount}}：还清之前无法调用，下一次充值会先抵扣', { amount: costText(-quota) })}
    </p>
  )
}
