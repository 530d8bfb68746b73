import '@mantine/core/styles/Combobox.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/Pill.layer.css'
import '@mantine/core/styles/PillsInput.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import '@mantine/core/styles/ScrollArea.layer.css'
import { TagsInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { RowField } from './form.tsx'

interface TagInputProps {
  field: RowField
  value: string[]
  onChange: (value: string[]) => void
  /** Offered while typing; others may be typed too. */
  options: readonly string[]
  placeholder: string
}

/** A list of short texts: chosen from a list, typed, or pasted with commas, spaces or line ends. */
export function TagInput({ field, value, onChange, options, placeholder }: TagInputProps) {
  const { t } = useTranslation()
  const clean = (tags: string[]) => [
    ...new Set(tags.map((tag) => tag.trim()).filter((tag) => tag !== '')),
  ]
  return (
    <TagsInput
      {...field}
      value={value}
      onChange={(tags) => onChange(clean(tags))}
      data={[...new Set(options)]}
      splitChars={[',', '，', '\n', '\t', ' ']}
      acceptValueOnBlur
      clearable
      clearButtonProps={{ 'aria-label': t('清空') }}
      maxDropdownHeight={240}
      limit={200}
      placeholder={value.length === 0 ? placeholder : ''}
      comboboxProps={{ shadow: 'md' }}
    />
  )
}
