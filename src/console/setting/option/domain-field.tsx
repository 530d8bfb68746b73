import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isComposing } from '../../ui/field/composing.ts'
import type { RowField } from '../../ui/field/row-field.tsx'
import { TagInput } from '../../ui/tag-input.tsx'
import { toast } from '../../app/toast.ts'
import { domainsOf, isDomain } from './option-field.ts'
import styles from './option.module.css'

interface DomainFieldProps {
  row: RowField
  /** Suggested domains, a comma list. */
  offered: string
  /** Comma list. */
  value: string
  onChange: (value: string) => void
}

/** Email domains, chosen from common ones or added in the field below them. */
export function DomainField({ row, offered, value, onChange }: DomainFieldProps) {
  const { t } = useTranslation()
  const [typed, setTyped] = useState('')
  const domains = domainsOf(value)
  /** Ignores empty and existing domains; rejects an invalid one. */
  function take(texts: readonly string[]): boolean {
    const next = domainsOf(texts.join(','))
    const wrong = next.find((domain) => !domains.includes(domain) && !isDomain(domain))
    if (wrong !== undefined) {
      toast.warning(t('「{{domain}}」不是域名，例如 example.com', { domain: wrong }))
      return false
    }
    onChange(next.join(','))
    return true
  }
  function add() {
    if (take([...domains, typed])) setTyped('')
  }
  return (
    <>
      <TagInput
        field={row}
        value={domains}
        onChange={(next) => void take(next)}
        options={domainsOf(offered)}
        placeholder={t('选择或输入域名')}
      />
      <div className={styles['add']}>
        <TextInput
          aria-label={t('添加新的允许的邮箱域名')}
          placeholder={t('添加新的允许的邮箱域名')}
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || isComposing(event)) return
            event.preventDefault()
            add()
          }}
        />
        <Button variant="default" onClick={add}>
          {t('填入')}
        </Button>
      </div>
    </>
  )
}
