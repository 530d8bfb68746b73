import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { ProviderRule } from '../../../contract/option/sign-in-providers.ts'
import { CheckBox } from '../../ui/field/check-box.tsx'
import { NEW_RULE, ruleFields, ruleOf, type RuleFields } from './provider-entries.ts'
import styles from './sign-in.module.css'

interface RuleListProps {
  rules: readonly ProviderRule[]
  onChange: (rules: readonly ProviderRule[]) => void
}

/** Rules that give a group or role to users with a claim. */
export function RuleList({ rules, onChange }: RuleListProps) {
  const { t } = useTranslation()
  return (
    <fieldset className={styles['rules']}>
      <legend>{t('分组和角色')}</legend>
      <p>
        {t(
          '声明是登录服务给出的用户资料，例如 groups。每次登录时，符合规则的用户得到该分组，不符合的失去它；规则没有提到的分组不变',
        )}
      </p>
      {rules.map((rule, index) => {
        const fields = ruleFields(rule)
        const change = (over: Partial<RuleFields>) =>
          onChange(rules.with(index, ruleOf({ ...fields, ...over })))
        return (
          <fieldset
            key={index}
            className={styles['rule']}
            aria-label={t('规则 {{number}}', { number: index + 1 })}
          >
            <TextInput
              label={t('声明')}
              placeholder="groups"
              value={fields.claim}
              onChange={(event) => change({ claim: event.currentTarget.value })}
            />
            <NativeSelect
              label={t('条件')}
              value={fields.by}
              onChange={(event) =>
                change({ by: event.currentTarget.value === 'equals' ? 'equals' : 'contains' })
              }
              data={[
                { value: 'contains', label: t('包含') },
                { value: 'equals', label: t('等于') },
              ]}
            />
            <TextInput
              label={t('值')}
              value={fields.value}
              onChange={(event) => change({ value: event.currentTarget.value })}
            />
            <TextInput
              label={t('授予分组')}
              value={fields.group}
              onChange={(event) => change({ group: event.currentTarget.value })}
            />
            <label className={styles['check']}>
              <CheckBox isOn={fields.isAdmin} onChange={(isAdmin) => change({ isAdmin })} />
              {t('管理员')}
            </label>
            <Button
              size="xs"
              variant="default"
              onClick={() => onChange(rules.filter((_, other) => other !== index))}
            >
              {t('移除')}
            </Button>
          </fieldset>
        )
      })}
      <Button size="xs" variant="default" onClick={() => onChange([...rules, NEW_RULE])}>
        {t('添加规则')}
      </Button>
    </fieldset>
  )
}
