import { lazy, Suspense, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Log } from '../../contract/log-api.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { currentLanguage } from '../app/i18n.ts'
import { LinkButton } from '../app/link-button.tsx'
import { useCostText, useHasFeature } from '../app/status.ts'
import { stampText } from '../app/time.ts'
import { paths } from '../paths.ts'
import { Action } from '../ui/actions.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Page } from '../ui/page.tsx'
import { Stepper } from '../ui/pager.tsx'
import { Empty } from '../ui/states.tsx'
import { logBlock, logColumns, type LogTexts } from './log-columns.tsx'
import { CleanupButton } from './log-cleanup.tsx'
import { ExportButton } from './log-export.tsx'
import { LogFilterBar } from './log-filters.tsx'
import { type LogList, type LogRow, useLogList } from './log-list.ts'
import { Statistics } from './log-statistics.tsx'
import styles from './log.module.css'

const LogDetail = lazy(async () => ({ default: (await import('./log-detail.tsx')).LogDetail }))

/** A reloaded row is a new object; rows without an id equal only themselves. */
const isSame = (a: Log, b: Log): boolean => a === b || (a.id > 0 && a.id === b.id)

function NoRows({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const listsFailures = useHasFeature()('dashboard')
  if (list.searchedFrom !== null) {
    return (
      <Empty
        sentence={t('{{time}} 之后没有符合条件的记录', { time: stampText(list.searchedFrom) })}
        action={<Action label={t('继续往前搜索')} onClick={list.searchOn} />}
      />
    )
  }
  if (list.table.state.page > 0) {
    return (
      <Empty
        sentence={t('没有更早的记录')}
        action={<Action label={t('回到第一页')} onClick={list.first} />}
      />
    )
  }
  if (!list.isFiltered) {
    return <Empty sentence={t('还没有记录。调用模型之后，用量会出现在这里')} />
  }
  const { request_id: requestId } = list.filters
  if (requestId !== '' && listsFailures) return <NoSuchRequest requestId={requestId} />
  return (
    <Empty
      sentence={t('没有符合筛选条件的记录')}
      action={<Action label={t('清除筛选')} onClick={list.clearFilters} />}
    />
  )
}

/** Every error contains its request id, but rejected requests have no row here. */
function NoSuchRequest({ requestId }: { requestId: string }) {
  const { t } = useTranslation()
  return (
    <Empty
      sentence={t('没有符合筛选条件的记录。失败的调用没有日志')}
      action={
        <LinkButton
          size="xs"
          variant="default"
          to={paths.dashboard}
          search={{ failures: '1', request_id: requestId }}
        >
          {t('在失败的调用中查找')}
        </LinkButton>
      }
    />
  )
}

/** A search in captured texts goes back one day at a time. */
function SearchedFrom({ list }: { list: LogList }) {
  const { t } = useTranslation()
  if (list.searchedFrom === null) return null
  return (
    <>
      <span className={styles['quiet']}>
        {t('已搜索到 {{time}}', { time: stampText(list.searchedFrom) })}
      </span>
      <Action label={t('继续往前搜索')} onClick={list.searchOn} />
    </>
  )
}

export function LogPage() {
  const { t } = useTranslation()
  const costText = useCostText()
  const list = useLogList()
  const { table, place, isAdmin } = list
  // Stored with its page: another page or filter closes it.
  const [opened, setOpened] = useState<{ row: LogRow; place: string } | null>(null)
  const inView = opened?.place === place ? opened.row : null

  const hasLongWords = currentLanguage() !== 'zh'
  const texts: LogTexts = useMemo(
    () => ({
      t,
      hasLongWords,
      costText,
      isAdmin,
      open: (row) => setOpened({ row, place }),
    }),
    [t, hasLongWords, costText, isAdmin, place],
  )
  const columns = useMemo(() => logColumns(texts), [texts])
  return (
    <Page
      title={t('使用日志')}
      actions={
        <>
          {isAdmin && <CleanupButton list={list} />}
          <ExportButton list={list} />
        </>
      }
    >
      <Statistics list={list} />
      <LogFilterBar list={list} />
      <DataTable
        label={t('使用日志')}
        list={table}
        columns={columns}
        block={logBlock(texts)}
        pageSize={PAGE_SIZE}
        onOpen={texts.open}
        isOpen={({ log }) => inView !== null && isSame(log, inView.log)}
        pager={
          <Stepper
            page={table.state.page}
            onFirst={list.first}
            onPrevious={list.previous}
            onNext={list.next}
          />
        }
        empty={<NoRows list={list} />}
        footer={list.table.rows.length > 0 && <SearchedFrom list={list} />}
      />
      <Suspense>
        {inView !== null && (
          <LogDetail log={inView.log} isAdmin={isAdmin} onClose={() => setOpened(null)} />
        )}
      </Suspense>
    </Page>
  )
}
