import '@mantine/core/styles/Combobox.layer.css'
import '@mantine/core/styles/Input.layer.css'
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../../contract/channel-api.ts'
import { call } from '../../app/call.ts'
import { typeName } from '../../app/channel-type-name.ts'
import styles from './copy-dialog.module.css'

const TYPING_PAUSE_MS = 300
/** Maximum number of search results. */
const FOUND_MAX = 50

interface CopySourceProps {
  chosen: readonly Channel[]
  source: Channel | null
  onPick: (source: Channel) => void
}

/** Selects a source: one of the selected channels, or any other found by the list's search. */
export function CopySource({ chosen, source, onPick }: CopySourceProps) {
  const { t } = useTranslation()
  const [typed, setTyped] = useState('')
  const nameOf = ({ id, name, type }: Channel) =>
    t('{{name}}（ID {{id}}，{{type}}）', { id, name: name || t('未命名'), type: typeName(type, t) })
  const isName = source !== null && typed === nameOf(source)
  const [keyword] = useDebouncedValue(isName ? '' : typed.trim(), TYPING_PAUSE_MS)
  const { data: found = [] } = useQuery({
    queryKey: ['channels', 'search', {}, keyword],
    queryFn: ({ signal }) => call('GET /api/channel/search', { query: { keyword } }, { signal }),
    enabled: keyword !== '',
  })
  const holds = (channel: Channel) =>
    isName || nameOf(channel).toLowerCase().includes(typed.trim().toLowerCase())
  const isChosen = new Set(chosen.map(({ id }) => id))
  const near = chosen.filter(holds).slice(0, FOUND_MAX)
  const others = (keyword === '' ? [] : found)
    .filter(({ id }) => !isChosen.has(id))
    .slice(0, FOUND_MAX)
  // Keeps the selected channel as an option, so that the field can display its name.
  const kept =
    source === null || [...near, ...others].some(({ id }) => id === source.id) ? [] : [source]
  const offered = [...near, ...others, ...kept]
  const itemOf = (channel: Channel) => ({ value: String(channel.id), label: nameOf(channel) })
  return (
    <Select
      label={t('来源渠道')}
      description={t('选中的渠道之一，或按 ID、名称搜索其他渠道')}
      placeholder={t('选择渠道')}
      searchable
      allowDeselect={false}
      value={source === null ? null : String(source.id)}
      searchValue={typed}
      onSearchChange={setTyped}
      onChange={(id) => {
        const picked = offered.find((channel) => String(channel.id) === id)
        if (picked !== undefined) onPick(picked)
      }}
      data={[
        { group: t('选中的渠道'), items: near.map(itemOf) },
        { group: t('其他渠道'), items: [...others, ...kept].map(itemOf) },
      ].filter(({ items }) => items.length > 0)}
      // The server has already filtered these.
      filter={({ options }) => options}
      nothingFoundMessage={t('没有找到')}
      withScrollArea={false}
      classNames={{ root: styles['source'] ?? '', options: styles['options'] ?? '' }}
      // A list in a portal would open behind the dialog.
      comboboxProps={{ withinPortal: false, shadow: 'md' }}
    />
  )
}
