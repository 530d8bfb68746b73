import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { TFunction } from 'i18next'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { FailedCall } from '../../contract/dashboard-api.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { CallFailure } from '../app/call-client.ts'
import { call, callWhole } from '../app/call.ts'
import { type ListState, useListState } from '../app/list/list-state.ts'
import { namedUser } from '../app/list/named-user.ts'
import { usePagedList } from '../app/list/paged-list.ts'
import { TraceLists } from '../app/route/route-lists.tsx'
import { nowSeconds, stampText } from '../app/time.ts'
import { paths } from '../paths.ts'
import { RequestId } from '../ui/copy/request-id.tsx'
import { type Block, type Column, DataTable } from '../ui/data-table.tsx'
import { FactList, PanelPart, SidePanel } from '../ui/float/side-panel.tsx'
import { Empty } from '../ui/states.tsx'
import {
  type FailureFilters,
  FailureFilterBar,
  failureFilters,
  isFiltered,
} from './failure-filters.tsx'
import { type RangeName, rangeQuery } from './overview.ts'
import styles from './dashboard.module.css'

/** A call with its index in the page. */
interface FailureRow extends FailedCall {
  id: number
}

interface Texts {
  t: TFunction
  isOfAll: boolean
  open: (row: FailureRow) => void
}

/** Opens the details by keyboard, like a click on the row. */
function Reason({ row, texts }: { row: FailureRow; texts: Texts }) {
  return (
    <button
      type="button"
      className={styles['open']}
      title={row.message}
      onClick={() => texts.open(row)}
    >
      {row.message || row.code || row.status}
    </button>
  )
}

function columnsOf(texts: Texts): Column<FailureRow>[] {
  const { t, isOfAll } = texts
  const columns: (Column<FailureRow> & { isAdmins?: boolean })[] = [
    { id: 'time', head: t('时间'), cell: (row) => stampText(row.created_at), width: 150 },
    { id: 'username', head: t('用户名'), cell: (row) => row.username, width: 120, isAdmins: true },
    { id: 'token', head: t('令牌名称'), cell: (row) => row.token_name, width: 130 },
    { id: 'model', head: t('模型名称'), cell: (row) => row.model_name || '—', width: 160 },
    { id: 'channel', head: t('渠道 ID'), cell: channelLink, width: 80, isAdmins: true },
    { id: 'status', head: t('状态'), cell: (row) => row.status, width: 60 },
    { id: 'reason', head: t('原因'), cell: (row) => <Reason row={row} texts={texts} /> },
  ]
  return columns.filter(({ isAdmins = false }) => isOfAll || !isAdmins)
}

const channelLink = ({ channel }: FailureRow) =>
  channel === 0 ? '—' : <Link to={paths.channelEdit(channel)}>{channel}</Link>

const blockOf =
  (texts: Texts) =>
  (row: FailureRow): Block => ({
    title: <Reason row={row} texts={texts} />,
    titleEnd: row.status,
    line: [texts.isOfAll ? row.username : '', row.token_name, row.model_name]
      .filter((part) => part !== '')
      .join(' · '),
    lineEnd: stampText(row.created_at),
  })

/** How the call was routed. Not available for calls rejected before routing. */
function Route({ requestId }: { requestId: string }) {
  const { t } = useTranslation()
  const { data } = useQuery({
    queryKey: ['route', requestId],
    queryFn: async ({ signal }) => {
      const options = { signal, background: true }
      try {
        return await call(
          'GET /api/channel/route/:request_id',
          { params: { request_id: requestId } },
          options,
        )
      } catch (error) {
        if (error instanceof CallFailure) return null
        throw error
      }
    },
  })
  if (data === null || data === undefined) return null
  return (
    <PanelPart title={t('路由过程')}>
      <TraceLists trace={data} />
    </PanelPart>
  )
}

interface DetailProps {
  row: FailureRow
  isOfAll: boolean
  onClose: () => void
}

function Detail({ row, isOfAll, onClose }: DetailProps) {
  const { t } = useTranslation()
  const facts = [
    { label: t('时间'), value: stampText(row.created_at) },
    ...(isOfAll ? [{ label: t('用户名'), value: `${row.username} #${row.user_id}` }] : []),
    { label: t('令牌名称'), value: row.token_name },
    { label: t('模型名称'), value: row.model_name || '—' },
    ...(isOfAll ? [{ label: t('渠道 ID'), value: channelLink(row) }] : []),
    { label: t('状态'), value: `${row.status} ${row.code}` },
    { label: t('原因'), value: row.message },
    {
      label: t('请求 ID'),
      value: <RequestId id={row.request_id} />,
    },
  ]
  return (
    <SidePanel title={t('失败的调用')} onClose={onClose}>
      <FactList facts={facts} />
      {isOfAll && <Route requestId={row.request_id} />}
    </SidePanel>
  )
}

/** A request id is searched in all stored data, other filters in the displayed range. */
const timeOf = (range: RangeName, { request_id }: FailureFilters) =>
  request_id === '' ? rangeQuery(range, nowSeconds()) : { start_timestamp: 0, end_timestamp: 0 }

function useFailures(range: RangeName, state: ListState) {
  const filters = failureFilters(state)
  const { start_timestamp, end_timestamp } = timeOf(range, filters)
  return usePagedList<FailureRow>({
    name: 'failures',
    state,
    filters: { ...filters, start: String(start_timestamp), end: String(end_timestamp) },
    async loadPage(p, signal) {
      const time = { start_timestamp, end_timestamp }
      const query = { p, ...time, ...filters, ...namedUser(filters.username), channel: 0 }
      const answer = await callWhole('GET /api/dashboard/failures', { query }, { signal })
      return { ...answer, data: answer.data.map((row, id) => ({ ...row, id })) }
    },
    search: () => Promise.resolve([]),
  })
}

interface FailureListProps {
  range: RangeName
  isOfAll: boolean
  onClose: () => void
}

/** Calls that the dashboard counts as failed, with the errors that clients received. */
export function FailureList({ range, isOfAll, onClose }: FailureListProps) {
  const { t } = useTranslation()
  const state = useListState()
  const list = useFailures(range, state)
  const [opened, setOpened] = useState<FailureRow | null>(null)
  const texts = useMemo(() => ({ t, isOfAll, open: setOpened }), [t, isOfAll])
  const columns = useMemo(() => columnsOf(texts), [texts])
  return (
    <section aria-label={t('失败的调用')}>
      <div className={styles['panelHead']}>
        <h2>{t('失败的调用')}</h2>
        <Button variant="subtle" size="xs" onClick={onClose}>
          {t('收起')}
        </Button>
      </div>
      <FailureFilterBar state={state} isOfAll={isOfAll} />
      <DataTable
        label={t('失败的调用')}
        list={list}
        columns={columns}
        block={blockOf(texts)}
        pageSize={PAGE_SIZE}
        onOpen={texts.open}
        isOpen={({ request_id: id }) => id === opened?.request_id}
        empty={
          <Empty
            sentence={
              isFiltered(failureFilters(state))
                ? t('没有符合筛选条件的失败调用，更早的只保留 14 天')
                : t('这段时间没有失败的调用，更早的只保留 14 天')
            }
          />
        }
      />
      {opened !== null && (
        <Detail
          key={opened.request_id}
          row={opened}
          isOfAll={isOfAll}
          onClose={() => setOpened(null)}
        />
      )}
    </section>
  )
}
