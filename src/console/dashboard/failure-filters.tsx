import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { ListState } from '../app/list/list-state.ts'
import { FilterBar, FilterField } from '../ui/filter-bar.tsx'
import { leaveFocusBehind } from '../ui/table/focus-after.ts'

/** Filters of failed calls, by their names in the address. */
const NAMES = ['username', 'token_name', 'model_name', 'request_id'] as const
type FailureFilterName = (typeof NAMES)[number]
/** Filter texts; empty if not set. */
export type FailureFilters = Readonly<Record<FailureFilterName, string>>

export const failureFilters = ({ get }: Pick<ListState, 'get'>): FailureFilters => ({
  username: get('username'),
  token_name: get('token_name'),
  model_name: get('model_name'),
  request_id: get('request_id'),
})

export const noFailureFilters: FailureFilters = failureFilters({ get: () => '' })

export const isFiltered = (filters: FailureFilters): boolean =>
  NAMES.some((name) => filters[name] !== '')

/** Filters for failed calls, such as the request id from an error message. */
export function FailureFilterBar({ state, isOfAll }: { state: ListState; isOfAll: boolean }) {
  const { t } = useTranslation()
  const filters = failureFilters(state)
  const fields: { name: FailureFilterName; label: string }[] = [
    { name: 'request_id', label: t('请求 ID') },
    ...(isOfAll ? [{ name: 'username' as const, label: t('用户名或 #ID') }] : []),
    { name: 'token_name', label: t('令牌名称') },
    { name: 'model_name', label: t('模型名称') },
  ]
  return (
    <FilterBar>
      {fields.map(({ name, label }) => (
        <FilterField
          key={name}
          label={label}
          value={filters[name]}
          onCommit={(value) => state.set({ [name]: value })}
        />
      ))}
      {isFiltered(filters) && (
        <Button ref={leaveFocusBehind} variant="subtle" onClick={() => state.set(noFailureFilters)}>
          {t('清除筛选')}
        </Button>
      )}
    </FilterBar>
  )
}
