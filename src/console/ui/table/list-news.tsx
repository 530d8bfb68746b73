import { useTranslation } from 'react-i18next'
import type { Column, TableList } from './table-list.ts'

interface ListNewsProps<Row> {
  list: TableList<Row>
  columns: readonly Column<Row>[]
  /** Number of visible rows. */
  shown: number
}

/** Announces the result of a search, page change or sorting to screen readers. */
export function ListNews<Row>({ list, columns, shown }: ListNewsProps<Row>) {
  const { t } = useTranslation()
  const {
    rows,
    rowsArePage,
    pageCount,
    total,
    isCut = false,
    isLoading,
    isRefreshing,
    state,
  } = list
  const count = rowsArePage ? total : rows.length
  const page = state.page + 1
  const column = columns.find(({ id }) => id === state.sort?.column)
  const isPart = isCut || (total === null ? count === null : !rowsArePage && total > rows.length)
  const news = () => {
    if (shown === 0) return t('列表为空')
    const parts = [
      isPart
        ? t('已加载 {{count}} 行', { count: count ?? shown })
        : t('共 {{count}} 行', { count: count ?? shown }),
    ]
    if (count === null) parts.push(t('第 {{page}} 页', { page }))
    else if (pageCount > 1) {
      parts.push(t('第 {{page}} 页，共 {{count}} 页', { page, count: pageCount }))
    }
    if (column !== undefined) {
      const { head } = column
      parts.push(
        state.sort?.isDescending === true
          ? t('按「{{head}}」降序', { head })
          : t('按「{{head}}」升序', { head }),
      )
    }
    return parts.join(t('，'))
  }
  // Empty while loading, so that an unchanged result is announced again.
  return <output className="sr-only">{isLoading || isRefreshing ? '' : news()}</output>
}
