import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { PAGE_SIZE } from '../../contract/paging.ts'
import type { Redemption } from '../../contract/redemption-api.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import { call, callWhole } from '../app/call.ts'
import { EditLink } from '../app/form/list-navigation.tsx'
import { LinkButton } from '../app/link-button.tsx'
import { useListState } from '../app/list/list-state.ts'
import { NoMatch } from '../app/list/no-match.tsx'
import { type PagedList, usePagedList } from '../app/list/paged-list.ts'
import { useQuotaText } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { Action, ConfirmAction, ToggleAction } from '../ui/actions.tsx'
import { copyText } from '../ui/copy/copy-text.ts'
import { DataTable } from '../ui/data-table.tsx'
import { FilterBar, SearchField, useSearchBox } from '../ui/filter-bar.tsx'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { RowActs } from '../ui/table/row-acts.tsx'
import { maskedCode, redemptionBlock, redemptionColumns } from './redemption-columns.tsx'
import { canToggle, toggled } from './redemption-state.ts'

function useRedemptionList() {
  return usePagedList<Redemption>({
    name: 'redemptions',
    state: useListState(),
    filters: {},
    loadPage: (p, signal) => callWhole('GET /api/redemption/', { query: { p } }, { signal }),
    search: (keyword, signal) =>
      call('GET /api/redemption/search', { query: { keyword } }, { signal }),
    compare: newestFirst,
  })
}

// A One API server returns search results unsorted.
const newestFirst = (a: Redemption, b: Redemption): number => b.id - a.id

interface RowActionsProps {
  redemption: Redemption
  list: PagedList<Redemption>
  /** Called with a code that could not be copied to the clipboard. */
  onUncopied: (code: string) => void
}

function RowActions({ redemption, list, onUncopied }: RowActionsProps) {
  const { t } = useTranslation()
  const { id, key, status } = redemption
  const name = redemption.name || maskedCode(key)

  async function copy() {
    if (await copyText(key)) toast.success(t('已复制到剪贴板！'))
    else onUncopied(key)
  }
  async function toggle() {
    const body = { id, status: toggled(status) }
    const changed = await call('PUT /api/redemption/?status_only', { body })
    list.update(id, { status: changed.status })
    toast.success(t('操作成功完成！'))
  }
  async function remove() {
    await call('DELETE /api/redemption/:id', { params: { id } })
    list.remove(id)
    toast.success(t('操作成功完成！'))
  }
  const switchIt = (
    <ToggleAction
      isOn={status !== RedemptionStatus.disabled}
      onClick={toggle}
      {...(canToggle(status) ? {} : { why: t('已使用的兑换码不能再启用或禁用') })}
    />
  )
  const drop = (
    <ConfirmAction
      label={t('删除')}
      question={
        status === RedemptionStatus.unused
          ? t('删除兑换码「{{name}}」？还没有兑换的人将无法再使用它', { name })
          : t('删除兑换码「{{name}}」？', { name })
      }
      confirmLabel={t('删除兑换码')}
      onClick={remove}
    />
  )
  return (
    <RowActs
      acts={[
        { id: 'copy', node: <Action label={t('复制')} onClick={copy} /> },
        { id: 'toggle', isRare: true, node: switchIt },
        { id: 'edit', node: <EditLink to={paths.redemptionEdit(id)} /> },
        { id: 'delete', isRare: true, node: drop },
      ]}
    />
  )
}

export function RedemptionListPage() {
  const { t } = useTranslation()
  const list = useRedemptionList()
  const { state } = list
  const box = useSearchBox(state.keyword, list.search)
  const quotaText = useQuotaText()
  const texts = useMemo(() => ({ t, quotaText }), [t, quotaText])
  const columns = useMemo(() => redemptionColumns(texts), [texts])
  const add = <LinkButton to={paths.redemptionAdd}>{t('添加兑换码')}</LinkButton>

  function showUncopied(code: string) {
    box.fill(code)
    toast.warning(t('无法复制到剪贴板，请手动复制，已将兑换码填入搜索框'))
  }
  const rowActions = (redemption: Redemption) => (
    <RowActions redemption={redemption} list={list} onUncopied={showUncopied} />
  )
  return (
    <Page
      title={t('兑换码')}
      facts={list.total === null ? '' : t('{{count}} 个', { count: list.total })}
      actions={add}
    >
      <FilterBar>
        <SearchField box={box} placeholder={t('搜索 ID、名称或兑换码首尾')} />
      </FilterBar>
      <DataTable
        label={t('兑换码')}
        list={list}
        columns={columns}
        block={redemptionBlock(texts)}
        pageSize={PAGE_SIZE}
        actionsWidth={240}
        rowActions={rowActions}
        empty={
          state.keyword === '' ? (
            <Empty sentence={t('还没有兑换码。用户凭兑换码为自己充值')} action={add} />
          ) : (
            <NoMatch
              box={box}
              sentence={t('没有 ID、名称或兑换码符合「{{keyword}}」的兑换码', {
                keyword: state.keyword,
              })}
            />
          )
        }
      />
    </Page>
  )
}
