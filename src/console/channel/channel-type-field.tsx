import '@mantine/core/styles/Combobox.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import '@mantine/core/styles/ScrollArea.layer.css'
import {
  type ComboboxItem,
  type ComboboxParsedItem,
  type OptionsFilter,
  Select,
} from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { channelType, channelTypeSections } from '../../contract/channel-types.ts'
import { localText } from '../app/i18n.ts'
import { FormRow } from '../ui/form.tsx'
import { ColorMark, ColorName } from '../ui/marks.tsx'
import { typeName } from '../app/channel-type-name.ts'
import styles from './channel.module.css'

/** Finds a type by its name in either language, or by its number. */
function matches({ value, label }: ComboboxItem, words: readonly string[]): boolean {
  const { zh, en } = channelType(Number(value)).label
  const names = `${value} ${label} ${zh} ${en}`.toLowerCase()
  return words.every((word) => names.includes(word))
}

const filterTypes: OptionsFilter = ({ options, search }) => {
  const words = search.toLowerCase().split(/\s+/)
  return options.flatMap((option): ComboboxParsedItem[] => {
    if (!('group' in option)) return matches(option, words) ? [option] : []
    const items = option.items.filter((item) => matches(item, words))
    return items.length === 0 ? [] : [{ ...option, items }]
  })
}

interface TypeRowProps {
  value: number
  onChange: (type: number) => void
  isNew: boolean
}

/** Notices about a type. */
function TypeNotice({ type, isNew }: { type: number; isNew: boolean }) {
  const { t } = useTranslation()
  const { notice, legacy, retired } = channelType(type)
  const sentences = [
    ...(notice === null ? [] : [localText(notice)]),
    ...(legacy && !retired ? [t('这是早年的服务，可能已经停止；新渠道建议选「OpenAI 兼容」')] : []),
    ...(retired && !isNew
      ? [t('这个类型的服务已经停止：渠道只能查看或删除，也可以改为其他类型')]
      : []),
  ]
  return sentences.map((sentence) => (
    <p key={sentence} className={styles[retired ? 'again' : 'notice']}>
      {sentence}
    </p>
  ))
}

export function TypeRow({ value, onChange, isNew }: TypeRowProps) {
  const { t } = useTranslation()
  const { current, legacy } = channelTypeSections()
  const itemOf = (type: number) => ({
    value: String(type),
    label: typeName(type, t),
    // A retired service cannot be selected.
    disabled: channelType(type).retired && type !== value,
  })
  const isListed = [...current, ...legacy].some((row) => row.type === value)
  const { color } = channelType(value)
  return (
    <FormRow label={t('类型')}>
      {(field) => (
        <>
          <Select
            {...field}
            searchable
            allowDeselect={false}
            value={String(value)}
            onChange={(type) => {
              if (type !== null) onChange(Number(type))
            }}
            data={[
              ...(isListed ? [] : [itemOf(value)]),
              { group: t('现有服务'), items: current.map(({ type }) => itemOf(type)) },
              { group: t('旧类型，不建议新建'), items: legacy.map(({ type }) => itemOf(type)) },
            ]}
            filter={filterTypes}
            leftSection={<ColorMark color={color} />}
            renderOption={({ option }) => (
              <ColorName color={channelType(Number(option.value)).color}>{option.label}</ColorName>
            )}
            nothingFoundMessage={t('没有找到')}
            withScrollArea={false}
            classNames={{ options: styles['types'] ?? '' }}
            comboboxProps={{ shadow: 'md' }}
          />
          <TypeNotice type={value} isNew={isNew} />
        </>
      )}
    </FormRow>
  )
}
