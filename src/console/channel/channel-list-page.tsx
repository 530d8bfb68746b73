import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel, ChannelSummary } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { CallFailure } from '../app/call-client.ts'
import { call, callWhole } from '../app/call.ts'
import { EditLink } from '../app/form/list-navigation.tsx'
import { LinkButton } from '../app/link-button.tsx'
import { useListState } from '../app/list/list-state.ts'
import { NoMatch } from '../app/list/no-match.tsx'
import { type PagedList, usePagedList } from '../app/list/paged-list.ts'
import { SortSelect } from '../app/list/sort-select.tsx'
import { useHasFeature, useQuotaText } from '../app/status.ts'
import { readStored, writeStored } from '../app/local-storage.ts'
import { nowSeconds } from '../app/time.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { Action, ConfirmAction, ToggleAction } from '../ui/actions.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { FilterBar, SearchField, useSearchBox } from '../ui/filter-bar.tsx'
import { Hint, Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { RowActs } from '../ui/table/row-acts.tsx'
import { BulkActions } from './channel-bulk.tsx'
import { channelBlock, channelColumns, type ChannelTexts, testModelOf } from './channel-columns.tsx'
import {
  channelFilters,
  ChannelFilters,
  filterQuery,
  isFiltered,
  NO_FILTERS,
  useChannelSummary,
} from './channel-filters.tsx'
import { RoutePanel } from './route/route-panel.tsx'
import { useChannelSelection } from './select/channel-selection.tsx'

const HINT = 'prompt-channel-test'

function useChannelList(): PagedList<Channel> {
  const state = useListState()
  const client = useQueryClient()
  const filters = channelFilters(state)
  const list = usePagedList<Channel>({
    name: 'channels',
    state,
    filters,
    loadPage: (p, signal) =>
      callWhole('GET /api/channel/', { query: { p, ...filterQuery(filters) } }, { signal }),
    search: (keyword, signal) =>
      call('GET /api/channel/search', { query: { keyword, ...filterQuery(filters) } }, { signal }),
  })
  const { update: updateRow } = list
  const update = useCallback(
    (id: number, change: Partial<Channel>) => {
      updateRow(id, change)
      if (change.status !== undefined) {
        void client.invalidateQueries({ queryKey: ['channels', 'summary'] })
      }
    },
    [updateRow, client],
  )
  return { ...list, update }
}

function useChannelTexts({ update }: PagedList<Channel>): ChannelTexts {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  return useMemo(
    () => ({
      t,
      quotaText,
      setPriority: async ({ id }, priority) => {
        await call('PUT /api/channel/', { body: { id, priority } })
        update(id, { priority })
        toast.success(t('操作成功完成！'))
      },
      refusePriority: () => toast.warning(t('优先级须是整数，例如 10')),
      refreshBalance: async ({ id, name }) => {
        const { balance } = await callWhole('GET /api/channel/update_balance/:id', {
          params: { id },
        })
        update(id, { balance, balance_updated_time: nowSeconds() })
        toast.success(t('「{{name}}」的余额已更新', { name }))
      },
      setTestModel: async ({ id }, model) => {
        await call('PUT /api/channel/', { body: { id, test_model: model } })
        update(id, { test_model: model })
        toast.success(t('操作成功完成！'))
      },
    }),
    [t, quotaText, update],
  )
}

interface RowActionsProps {
  channel: Channel
  list: PagedList<Channel>
  onRemoved: (id: number) => void
}

function RowActions({ channel, list, onRemoved }: RowActionsProps) {
  const { t } = useTranslation()
  const { id, name } = channel
  const isEnabled = channel.status === ChannelStatus.enabled

  /** A test may re-enable a channel or pause a key. */
  async function refreshRow() {
    const { status, keys_paused } = await call('GET /api/channel/:id', { params: { id } })
    list.update(id, { status, keys_paused })
  }
  async function test() {
    const seen = { test_time: nowSeconds() }
    try {
      const query = { model: testModelOf(channel) }
      const answer = await callWhole('GET /api/channel/test/:id', { params: { id }, query })
      list.update(id, { ...seen, response_time: Math.max(1, Math.round(answer.time * 1000)) })
      await refreshRow()
      toast.success(
        t('「{{name}}」测试成功：模型 {{model}}，用时 {{seconds}} 秒', {
          name,
          // One API's spelling comes first: it may omit the other.
          model: answer.modelName || answer.model || query.model,
          seconds: answer.time.toFixed(2),
        }),
      )
    } catch (error) {
      // The toast with the server's message is already shown.
      if (error instanceof CallFailure && error.refused) {
        list.update(id, { ...seen, response_time: 0 })
        await refreshRow()
      }
      throw error
    }
  }
  async function toggle() {
    const status = isEnabled ? ChannelStatus.disabled : ChannelStatus.enabled
    const changed = await call('PUT /api/channel/', { body: { id, status } })
    list.update(id, { status: changed.status, keys_paused: changed.keys_paused })
    toast.success(t('操作成功完成！'))
  }
  async function remove() {
    await call('DELETE /api/channel/:id', { params: { id } })
    list.remove(id)
    onRemoved(id)
    toast.success(t('操作成功完成！'))
  }
  const drop = (
    <ConfirmAction
      label={t('删除')}
      question={t('删除渠道「{{name}}」？它的密钥会一并删除，无法恢复', { name })}
      confirmLabel={t('删除渠道')}
      onClick={remove}
    />
  )
  return (
    <RowActs
      acts={[
        { id: 'test', node: <Action label={t('测试')} onClick={test} /> },
        {
          id: 'toggle',
          isRare: true,
          node: <ToggleAction isOn={isEnabled} onClick={toggle} />,
        },
        { id: 'edit', node: <EditLink to={paths.channelEdit(id)} /> },
        { id: 'delete', isRare: true, node: drop },
      ]}
    />
  )
}

/** Shown once, until it is closed or the page is left. */
function TestHint() {
  const { t } = useTranslation()
  const [isShown, setIsShown] = useState(() => readStored(HINT) === null)
  useEffect(() => writeStored(HINT, 'true'), [])
  if (!isShown) return null
  return (
    <Hint closeLabel={t('知道了')} onClose={() => setIsShown(false)}>
      {t(
        '余额只有部分类型能够查询。测试会向上游发出一次真实的对话请求，可能产生少量费用；只支持对话模型',
      )}
    </Hint>
  )
}

function summaryText(summary: ChannelSummary, t: ChannelTexts['t']): string {
  const parts = [
    t('{{count}} 个启用', { count: summary.enabled }),
    t('{{count}} 个手动禁用', { count: summary.disabled }),
    t('{{count}} 个自动禁用', { count: summary.auto_disabled }),
  ]
  const counts = [summary.enabled, summary.disabled, summary.auto_disabled]
  const named = parts.filter((_, index) => index === 0 || counts[index] !== 0)
  return [t('共 {{count}} 个', { count: summary.total }), ...named].join(t('，'))
}

/** Counts of the loaded rows, for servers that do not count all channels (One API). */
function factsOfRows(
  { rows, total, rowsArePage }: PagedList<Channel>,
  t: ChannelTexts['t'],
): string {
  const countOf = (status: number) => rows.filter((row) => row.status === status).length
  const told = {
    enabled: countOf(ChannelStatus.enabled),
    auto: countOf(ChannelStatus.autoDisabled),
  }
  if (total === null && rowsArePage) {
    return t('已加载 {{count}} 个，{{enabled}} 个启用，{{auto}} 个被自动禁用', {
      count: rows.length,
      ...told,
    })
  }
  return total !== null && total > rows.length
    ? t('共 {{total}} 个；已加载 {{count}} 个，其中 {{enabled}} 个启用，{{auto}} 个被自动禁用', {
        total,
        count: rows.length,
        ...told,
      })
    : t('{{count}} 个，{{enabled}} 个启用，{{auto}} 个被自动禁用', {
        count: rows.length,
        ...told,
      })
}

export function ChannelListPage() {
  const { t } = useTranslation()
  const list = useChannelList()
  const { state } = list
  const box = useSearchBox(state.keyword, list.search)
  const texts = useChannelTexts(list)
  const columns = useMemo(() => channelColumns(texts), [texts])
  const { selection, forget, dialog } = useChannelSelection(list)
  const rowActions = (channel: Channel) => (
    <RowActions channel={channel} list={list} onRemoved={(id) => forget([id])} />
  )
  const [isRouteOpen, setIsRouteOpen] = useState(false)
  const knowsRoutes = useHasFeature()('channel-routes')
  const countsAll = useHasFeature()('channel-filters')
  const summary = useChannelSummary()
  const isKnown = !list.isLoading && (list.error === null || list.rows.length > 0)
  const rowFacts = isKnown && !countsAll ? factsOfRows(list, t) : ''
  const facts = summary === undefined ? rowFacts : summaryText(summary, t)
  const add = <LinkButton to={paths.channelAdd}>{t('添加渠道')}</LinkButton>
  const actions = (
    <>
      {knowsRoutes && (
        <Action label={t('试算路由')} size="sm" onClick={() => setIsRouteOpen(!isRouteOpen)} />
      )}
      {add}
    </>
  )
  return (
    <Page title={t('渠道')} facts={facts} actions={actions}>
      <TestHint />
      {dialog}
      {isRouteOpen && <RoutePanel onClose={() => setIsRouteOpen(false)} />}
      <FilterBar>
        <SearchField box={box} placeholder={t('搜索渠道的 ID、名称和密钥')} />
        <ChannelFilters state={state} summary={summary} />
        <SortSelect columns={columns} state={state} />
      </FilterBar>
      <DataTable
        label={t('渠道')}
        list={list}
        columns={columns}
        block={channelBlock(texts)}
        pageSize={PAGE_SIZE}
        actionsWidth={240}
        rowActions={rowActions}
        selection={selection}
        footer={<BulkActions list={list} isSelecting={(selection?.count ?? 0) > 0} />}
        empty={
          state.keyword !== '' || isFiltered(state) ? (
            <NoMatch
              box={box}
              onClear={() => state.set(NO_FILTERS)}
              sentence={
                state.keyword === ''
                  ? t('没有符合筛选条件的渠道')
                  : t('没有 ID、名称或密钥符合「{{keyword}}」的渠道', { keyword: state.keyword })
              }
            />
          ) : (
            <Empty sentence={t('还没有渠道。渠道是到上游模型服务的连接')} action={add} />
          )
        }
      />
    </Page>
  )
}
