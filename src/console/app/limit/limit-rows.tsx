import '@mantine/core/styles/Input.layer.css'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { LimitStanding } from '../../../contract/limit-api.ts'
import { isBudget, NO_LIMIT, type LimitName } from '../../../contract/limit.ts'
import { describedBy } from '../../ui/field/row-field.tsx'
import { FormGroupRow } from '../../ui/form.tsx'
import { useDollarText, useQuotaText } from '../status.ts'
import {
  budgets,
  isLimit,
  limitLabels,
  limitProblem,
  rateLimits,
  type LimitForm,
} from './limit-form.ts'
import styles from './limit.module.css'

interface LimitRowsProps {
  value: LimitForm
  onChange: (value: LimitForm) => void
  /** Stored limits and their current usage; undefined for a new record. */
  standing: LimitStanding | undefined
  /** Whether to mark invalid fields. */
  isChecked: boolean
}

/** Form rows for limits and budgets, each with its current usage. */
export function LimitRows(props: LimitRowsProps) {
  const { t } = useTranslation()
  const zone = props.standing?.time_zone
  return (
    <>
      <LimitRow {...props} label={t('频率限制')} hint={t('留空不限制')} names={rateLimits} />
      <LimitRow
        {...props}
        label={t('预算')}
        hint={
          zone === undefined || zone === 'UTC'
            ? t('以额度点数填写，留空不限制')
            : t('以额度点数填写，留空不限制；按 {{zone}} 的日期计算', { zone })
        }
        names={budgets}
      />
    </>
  )
}

interface LimitRowProps extends LimitRowsProps {
  label: string
  hint: string
  names: readonly LimitName[]
}

function LimitRow({ label, hint, names, value, onChange, standing, isChecked }: LimitRowProps) {
  const { t } = useTranslation()
  const isWrong = (name: LimitName) => isChecked && !isLimit(name, value[name])
  return (
    <FormGroupRow label={label} hint={hint} error={names.some(isWrong) ? t(limitProblem) : ''}>
      {(errorId) => (
        <div className={styles['limits']}>
          {names.map((name) => (
            <TextInput
              key={name}
              {...(isWrong(name) ? { inputContainer: describedBy(errorId) } : {})}
              classNames={{ label: styles['label'] ?? '', description: styles['used'] ?? '' }}
              label={t(limitLabels[name])}
              description={<Used name={name} text={value[name]} standing={standing} />}
              inputWrapperOrder={['label', 'input', 'description']}
              inputMode="numeric"
              autoComplete="off"
              placeholder={t('不限制')}
              value={value[name]}
              onChange={({ currentTarget }) => onChange({ ...value, [name]: currentTarget.value })}
              error={isWrong(name)}
              aria-invalid={isWrong(name)}
            />
          ))}
        </div>
      )}
    </FormGroupRow>
  )
}

interface UsedProps {
  name: LimitName
  text: string
  standing: LimitStanding | undefined
}

/** Shows how much of a limit is used; for a budget, in the display currency. */
function Used({ name, text, standing }: UsedProps) {
  const { t } = useTranslation()
  const dollarText = useDollarText()
  const quotaText = useQuotaText()
  const worth = isBudget(name) && isLimit(name, text) && Number(text) > 0
  const isInForce = standing !== undefined && standing.limits[name] !== NO_LIMIT
  const used = standing?.used[name] ?? 0
  const shown = isBudget(name) ? quotaText(used) : used.toLocaleString('en-US')
  return (
    <>
      {worth && <span>{t('等价 {{amount}}', { amount: dollarText(Number(text)) })}</span>}
      {isInForce && <span>{t('已用 {{used}}', { used: shown })}</span>}
    </>
  )
}
