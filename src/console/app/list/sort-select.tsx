import '@mantine/core/styles/Input.layer.css'
import { NativeSelect } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Column } from '../../ui/data-table.tsx'
import { useBlocks } from '../../ui/table/blocks.ts'
import { type ListState, readSort, sortText } from './list-state.ts'

interface SortSelectProps<Row> {
  columns: readonly Column<Row>[]
  state: ListState
}

/** Sorts a list in windows that are too narrow for column heads. */
export function SortSelect<Row>({ columns, state }: SortSelectProps<Row>) {
  const { t } = useTranslation()
  if (!useBlocks()) return null
  const offered = columns.filter(({ sortBy }) => sortBy !== undefined)
  return (
    <NativeSelect
      aria-label={t('排序方式')}
      value={sortText(state.sort)}
      onChange={(event) => state.sortBy(readSort(event.currentTarget.value))}
      data={[
        { value: '', label: t('默认排序') },
        ...offered.flatMap(({ id, head }) => [
          { value: id, label: `${t('按「{{head}}」排序', { head })} ↑` },
          { value: `-${id}`, label: `${t('按「{{head}}」排序', { head })} ↓` },
        ]),
      ]}
    />
  )
}
