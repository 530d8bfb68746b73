import { NativeSelect } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { FormRow } from '../ui/form.tsx'
import type { GroupChoice } from './token-group.ts'
import styles from './token.module.css'

interface GroupRowProps {
  value: string
  choices: readonly GroupChoice[]
  onChange: (group: string) => void
}

/** The group of a token's calls. Only shown if there is a choice. */
export function GroupRow({ value, choices, onChange }: GroupRowProps) {
  const { t } = useTranslation()
  const label = ({ name, groups, ratio, isGone }: GroupChoice): string => {
    if (isGone) return t('{{group}}（已不可用）', { group: groups })
    const named = name === '' ? t('与账户相同：{{groups}}', { groups }) : groups
    return ratio === null ? named : `${named} · ${ratio}×`
  }
  const chosen = choices.find(({ name }) => name === value)
  const isGone = chosen?.isGone === true
  return (
    <FormRow
      label={t('令牌分组')}
      hint={t('决定可用的渠道和价格')}
      error={isGone ? t('使用此令牌的调用会被拒绝，请另选分组') : ''}
    >
      {(field) => (
        <>
          <NativeSelect
            {...field}
            value={value}
            onChange={({ currentTarget }) => onChange(currentTarget.value)}
            data={choices.map((choice) => ({ value: choice.name, label: label(choice) }))}
          />
          {chosen !== undefined && chosen.desc !== '' && (
            <p className={styles['choiceHint']}>{chosen.desc}</p>
          )}
        </>
      )}
    </FormRow>
  )
}
