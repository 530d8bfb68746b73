import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { isBudget, LIMIT_NAMES, NO_LIMIT, type LimitName } from '../../contract/limit.ts'
import { call } from '../app/call.ts'
import { limitNames } from '../app/limit/limit-form.ts'
import { sessionUser } from '../app/session.ts'
import { useHasFeature, useQuotaText } from '../app/status.ts'
import { FactRow } from '../ui/form.tsx'
import styles from './profile.module.css'

/**
 * Limits that administrators set for the signed-in user, with their current usage. Empty without
 * limits.
 */
export function OwnLimits() {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  const quotaText = useQuotaText()
  // A session that must change the default password may not request them.
  const mustChange = sessionUser()?.must_change_password === true
  const { data } = useQuery({
    queryKey: ['limits', 'self'],
    queryFn: ({ signal }) => call('GET /api/limit/self', {}, { signal }),
    enabled: hasFeature('limits') && !mustChange,
  })
  if (data === undefined) return null
  const set = LIMIT_NAMES.filter((name) => data.limits[name] !== NO_LIMIT)
  if (set.length === 0) return null
  const shown = (name: LimitName, amount: number) =>
    isBudget(name) ? quotaText(amount) : amount.toLocaleString('en-US')
  return (
    <FactRow label={t('限制与预算')}>
      <ul className={styles['limits']}>
        {set.map((name) => (
          <li key={name}>
            {t(limitNames[name])}
            <span>
              {t('已用 {{used}}，上限 {{limit}}', {
                used: shown(name, data.used[name]),
                limit: shown(name, data.limits[name]),
              })}
            </span>
          </li>
        ))}
      </ul>
    </FactRow>
  )
}
