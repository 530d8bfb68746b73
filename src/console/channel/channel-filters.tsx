import '@mantine/core/styles/Input.layer.css'
import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { ChannelSummary } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { typeName } from '../app/channel-type-name.ts'
import { call } from '../app/call.ts'
import { mark } from '../app/i18n.ts'
import type { ListState } from '../app/list/list-state.ts'
import { useHasFeature } from '../app/status.ts'

const FILTER_NAMES = ['status', 'type', 'group'] as const
type FilterName = (typeof FILTER_NAMES)[number]

/** Filters of the channel list from the address; empty for any. */
export const channelFilters = (state: ListState): Record<FilterName, string> => ({
  status: state.get('status'),
  type: state.get('type'),
  group: state.get('group'),
})

export const isFiltered = (state: ListState): boolean =>
  FILTER_NAMES.some((name) => state.get(name) !== '')

export const NO_FILTERS: Readonly<Record<FilterName, string>> = { status: '', type: '', group: '' }

/** The filters as query parameters of the API. */
export const filterQuery = ({ status, type, group }: Record<FilterName, string>) => ({
  status: Number(status) || undefined,
  type: Number(type) || undefined,
  group: group || undefined,
})

/** Counts of all channels; undefined until loaded, or if the server does not count them. */
export function useChannelSummary(): ChannelSummary | undefined {
  const isKnown = useHasFeature()('channel-filters')
  const { data } = useQuery({
    // Nested below the list's key, so that refreshing the list refreshes the counts.
    queryKey: ['channels', 'summary'],
    queryFn: ({ signal }) => call('GET /api/channel/summary', {}, { signal, background: true }),
    enabled: isKnown,
  })
  return data
}

const statusNames = [
  [ChannelStatus.enabled, mark('已启用')],
  [ChannelStatus.disabled, mark('手动禁用')],
  [ChannelStatus.autoDisabled, mark('自动禁用')],
] as const

interface ChannelFilterProps {
  state: ListState
  summary: ChannelSummary | undefined
}

/** Filters by status, type and group. */
export function ChannelFilters({ state, summary }: ChannelFilterProps) {
  const { t } = useTranslation()
  const isKnown = useHasFeature()('channel-filters')
  if (!isKnown) return null
  const chosen = channelFilters(state)
  // Keeps the selected value as an option after its last channel is gone.
  const types = new Set([...(summary?.types ?? []), Number(chosen.type)].filter(Boolean))
  const groups = new Set([...(summary?.groups ?? []), chosen.group].filter((name) => name !== ''))
  const options: Record<FilterName, { value: string; label: string }[]> = {
    status: [
      { value: '', label: t('全部状态') },
      ...statusNames.map(([status, name]) => ({ value: String(status), label: t(name) })),
    ],
    type: [
      { value: '', label: t('全部类型') },
      ...[...types].map((type) => ({ value: String(type), label: typeName(type, t) })),
    ],
    group: [
      { value: '', label: t('全部分组') },
      ...[...groups].map((name) => ({ value: name, label: name })),
    ],
  }
  const labels: Record<FilterName, string> = {
    status: t('按状态筛选'),
    type: t('按类型筛选'),
    group: t('按分组筛选'),
  }
  return FILTER_NAMES.map((name) => (
    <NativeSelect
      key={name}
      aria-label={labels[name]}
      value={chosen[name]}
      onChange={(event) => state.set({ [name]: event.currentTarget.value })}
      data={options[name]}
    />
  ))
}
