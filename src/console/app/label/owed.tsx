import { useTranslation } from 'react-i18next'
import { useCostText, useQuotaText } from '../status.ts'
import styles from './owed.module.css'

/** A balance. Below zero it is marked as owed. */
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

/** What an account owes, and what that means; nothing for a balance that is not below zero. */
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
