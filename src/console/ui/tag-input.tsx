import '@mantine/core/styles/CloseButton.layer.css'
import '@mantine/core/styles/Combobox.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/Pill.layer.css'
import '@mantine/core/styles/PillsInput.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { TagsInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { RowField } from './form.tsx'
import styles from './form.module.css'

interface TagInputProps {
  field: RowField
  value: string[]
  onChange: (value: string[]) => void
  /** Offered while typing; others may be typed too. */
  options: readonly string[]
  placeholder: string
}

/** Tags drawn at once: a thousand of them would make typing slow. */
const SHOWN_MAX = 60

/** A list of short texts: chosen from a list, typed, or pasted with commas, spaces or line ends. */
export function TagInput({ field, value, onChange, options, placeholder }: TagInputProps) {
  const { t } = useTranslation()
  const [isWhole, setIsWhole] = useState(false)
  // The last ones are in view: that is where new ones arrive.
  const hidden = isWhole ? [] : value.slice(0, Math.max(0, value.length - SHOWN_MAX))
  const offered = new Set(options.filter((option) => !hidden.includes(option)))
  const clean = (tags: string[]) => [
    ...new Set([...hidden, ...tags].map((tag) => tag.trim()).filter((tag) => tag !== '')),
  ]
  return (
    <>
      <TagsInput
        {...field}
        value={value.slice(hidden.length)}
        onChange={(tags) => onChange(clean(tags))}
        onClear={() => onChange([])}
        data={[...offered]}
        splitChars={[',', '，', '\n', '\t', ' ']}
        isDuplicate={(tag, tags) => tags.includes(tag)}
        acceptValueOnBlur
        clearable
        clearButtonProps={{ 'aria-label': t('清空'), size: 'sm', className: styles['clear'] ?? '' }}
        withScrollArea={false}
        limit={200}
        placeholder={value.length === 0 ? placeholder : ''}
        comboboxProps={{ shadow: 'md' }}
        classNames={{
          pillsList: styles['tags'] ?? '',
          pill: styles['tag'] ?? '',
          options: styles['offered'] ?? '',
        }}
      />
      {hidden.length > 0 && (
        <p className={styles['more']}>
          {t('共 {{total}} 个，只显示最后 {{count}} 个', {
            total: value.length,
            count: SHOWN_MAX,
          })}{' '}
          <button type="button" onClick={() => setIsWhole(true)}>
            {t('全部显示')}
          </button>
        </p>
      )}
    </>
  )
}
