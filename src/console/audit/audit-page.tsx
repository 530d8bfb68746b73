import '@mantine/core/styles/Input.layer.css'
import { Button, NativeSelect } from '@mantine/core'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { AuditEntry } from '../../contract/audit-api.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { callWhole } from '../app/call.ts'
import { type ListState, useListState } from '../app/list/list-state.ts'
import { usePagedList } from '../app/list/paged-list.ts'
import { nowSeconds, parseStamp, stampText } from '../app/time.ts'
import { DataTable } from '../ui/data-table.tsx'
import { StampField } from '../ui/field/stamp-field.tsx'
import { FilterBar, FilterField } from '../ui/filter-bar.tsx'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { leaveFocusBehind } from '../ui/table/focus-after.ts'
import { auditBlock, auditColumns, type AuditTexts } from './audit-columns.tsx'
import { AuditDetail } from './audit-detail.tsx'
import { AuditExport } from './audit-export.tsx'
import { nouns } from './audit-texts.ts'
import styles from './audit.module.css'

const FILTERS = ['action', 'actor', 'target', 'start', 'end'] as const
type FilterName = (typeof FILTERS)[number]

const AHEAD_SECONDS = 3600

/** Parses seconds from the address; 0 for anything else, which sets no filter. */
const secondsOf = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : 0)

function auditQuery({ start, end, ...words }: Record<FilterName, string>) {
  return { ...words, start_timestamp: secondsOf(start), end_timestamp: secondsOf(end) }
}

function useAuditList(state: ListState, filters: Record<FilterName, string>) {
  const query = auditQuery(filters)
  return usePagedList<AuditEntry>({
    name: 'audit',
    state,
    filters,
    loadPage: (p, signal) =>
      callWhole('GET /api/audit/', { query: { p, before: '', ...query } }, { signal }),
    search: () => Promise.resolve([]),
  })
}

interface FiltersProps {
  state: ListState
  filters: Record<FilterName, string>
}

function Filters({ state, filters }: FiltersProps) {
  const { t } = useTranslation()
  // End of the list if none is chosen.
  const [endSeconds] = useState(() => nowSeconds() + AHEAD_SECONDS)
  const stamps = { format: stampText, parse: parseStamp }
  const setTime = (name: 'start' | 'end') => (seconds: number) =>
    state.set({ [name]: seconds > 0 ? String(seconds) : '' })
  return (
    <FilterBar>
      <NativeSelect
        aria-label={t('对象类型')}
        value={filters.action}
        onChange={(event) => state.set({ action: event.currentTarget.value })}
        data={[
          { value: '', label: t('全部操作') },
          ...nouns.map(({ noun, name }) => ({ value: noun, label: t(name) })),
        ]}
      />
      <FilterField
        label={t('操作者的用户名或 ID')}
        value={filters.actor}
        onCommit={(actor) => state.set({ actor })}
      />
      <FilterField
        label={t('对象的名称或 ID')}
        value={filters.target}
        onCommit={(target) => state.set({ target })}
      />
      <div className={styles['stamps']}>
        <StampField
          label={t('开始时间')}
          value={secondsOf(filters.start)}
          atZero={t('从头开始')}
          onCommit={setTime('start')}
          timeOfDay="00:00:00"
          {...stamps}
        />
        <span aria-hidden="true">→</span>
        <StampField
          label={t('结束时间')}
          value={secondsOf(filters.end) || endSeconds}
          onCommit={setTime('end')}
          timeOfDay="23:59:59"
          {...stamps}
        />
      </div>
      {Object.values(filters).some((value) => value !== '') && (
        <Button ref={leaveFocusBehind} variant="subtle" onClick={() => state.set(emptied())}>
          {t('清除筛选')}
        </Button>
      )}
    </FilterBar>
  )
}

const emptied = () => Object.fromEntries(FILTERS.map((name) => [name, '']))

/** For root: changes that administrators made. */
export function AuditPage() {
  const { t } = useTranslation()
  const state = useListState()
  const filters: Record<FilterName, string> = {
    action: state.get('action'),
    actor: state.get('actor'),
    target: state.get('target'),
    start: state.get('start'),
    end: state.get('end'),
  }
  const list = useAuditList(state, filters)
  const [opened, setOpened] = useState<AuditEntry | null>(null)
  const texts: AuditTexts = useMemo(() => ({ t, open: setOpened }), [t])
  const columns = useMemo(() => auditColumns(texts), [texts])
  const isFiltered = Object.values(filters).some((value) => value !== '')
  return (
    <Page
      title={t('审计')}
      facts={t('修改、失败的登录和被拒绝的请求')}
      actions={<AuditExport query={auditQuery(filters)} />}
    >
      <Filters state={state} filters={filters} />
      <DataTable
        label={t('审计')}
        list={list}
        columns={columns}
        block={auditBlock(texts)}
        pageSize={PAGE_SIZE}
        onOpen={texts.open}
        isOpen={({ id }) => id === opened?.id}
        empty={
          <Empty
            sentence={
              isFiltered ? t('没有符合筛选条件的记录') : t('还没有记录。管理员的修改会出现在这里')
            }
          />
        }
      />
      {opened !== null && (
        <AuditDetail key={opened.id} entry={opened} onClose={() => setOpened(null)} />
      )}
    </Page>
  )
}
