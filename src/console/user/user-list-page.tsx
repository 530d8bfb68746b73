import { NativeSelect } from '@mantine/core'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { PAGE_SIZE } from '../../contract/paging.ts'
import type { User } from '../../contract/user-api.ts'
import { type ManageAction, Role, USER_ORDERS, UserStatus } from '../../contract/user.ts'
import { call, callWhole } from '../app/call.ts'
import { currentLanguage } from '../app/i18n.ts'
import { EditLink } from '../app/form/list-navigation.tsx'
import { LinkButton } from '../app/link-button.tsx'
import { useListState } from '../app/list/list-state.ts'
import { NoMatch } from '../app/list/no-match.tsx'
import { type PagedList, usePagedList } from '../app/list/paged-list.ts'
import { useSessionUser } from '../app/session.ts'
import { useQuotaText } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { Action, ConfirmAction, ToggleAction } from '../ui/actions.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { FilterBar, SearchField, useSearchBox } from '../ui/filter-bar.tsx'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { RowActs } from '../ui/table/row-acts.tsx'
import { denialReason } from './user-can.ts'
import { userBlock, userColumns } from './user-columns.tsx'
import { orderNames, orders, toOrder } from './user-order.ts'

function useUserList() {
  const state = useListState()
  const order = toOrder(state.get('order'))
  return usePagedList<User>({
    name: 'users',
    state,
    filters: { order },
    loadPage: (p, signal) => callWhole('GET /api/user/', { query: { p, order } }, { signal }),
    search: (keyword, signal) => call('GET /api/user/search', { query: { keyword } }, { signal }),
    compare: orders[order],
  })
}

function RowActions({ user, list }: { user: User; list: PagedList<User> }) {
  const { t } = useTranslation()
  const actor = useSessionUser() ?? { id: 0, role: Role.guest }
  const why = (act: ManageAction | 'edit') => {
    const reason = denialReason(act, actor, user)
    return reason === '' ? {} : { why: t(reason) }
  }

  /** The row takes the role and status from the response. */
  async function manage(action: ManageAction) {
    const body = { username: user.username, action }
    const { role, status } = await call('POST /api/user/manage', { body })
    if (action === 'delete') list.remove(user.id)
    else list.update(user.id, { role, status })
    toast.success(t('操作成功完成！'))
  }
  const isEnabled = user.status === UserStatus.enabled
  const toggle = isEnabled ? 'disable' : 'enable'
  const promote = (
    <ConfirmAction
      label={t('提升')}
      question={t('将用户「{{name}}」提升为管理员？管理员可以管理渠道、用户和兑换码', {
        name: user.username,
      })}
      confirmLabel={t('提升为管理员')}
      isHarmless
      onClick={() => manage('promote')}
      {...why('promote')}
    />
  )
  const demote = <Action label={t('降级')} onClick={() => manage('demote')} {...why('demote')} />
  const remove = (
    <ConfirmAction
      label={t('删除')}
      question={t('删除用户「{{name}}」？该用户会立即无法登录，其令牌会立即失效', {
        name: user.username,
      })}
      confirmLabel={t('删除用户')}
      onClick={() => manage('delete')}
      {...why('delete')}
    />
  )
  return (
    <RowActs
      acts={[
        { id: 'promote', isRare: true, node: promote },
        { id: 'demote', isRare: true, node: demote },
        {
          id: 'toggle',
          node: <ToggleAction isOn={isEnabled} onClick={() => manage(toggle)} {...why(toggle)} />,
        },
        { id: 'edit', node: <Edit user={user} why={why('edit').why} /> },
        { id: 'delete', isRare: true, node: remove },
      ]}
    />
  )
}

function Edit({ user, why }: { user: User; why: string | undefined }) {
  const { t } = useTranslation()
  if (why !== undefined) return <Action label={t('编辑')} onClick={() => {}} why={why} />
  return <EditLink to={paths.userEdit(user.id)} />
}

export function UserListPage() {
  const { t } = useTranslation()
  const list = useUserList()
  const { state } = list
  const box = useSearchBox(state.keyword, list.search)
  const quotaText = useQuotaText()
  const hasLongWords = currentLanguage() !== 'zh'
  const texts = useMemo(() => ({ t, quotaText, hasLongWords }), [t, quotaText, hasLongWords])
  const columns = useMemo(() => userColumns(texts), [texts])
  const add = <LinkButton to={paths.userAdd}>{t('添加用户')}</LinkButton>
  const rowActions = (user: User) => <RowActions user={user} list={list} />
  return (
    <Page
      title={t('管理用户')}
      facts={list.total === null ? '' : t('{{count}} 个', { count: list.total })}
      actions={add}
    >
      <FilterBar>
        <SearchField box={box} placeholder={t('搜索 ID、用户名、显示名称或邮箱')} />
        <NativeSelect
          aria-label={t('排序方式')}
          value={toOrder(state.get('order'))}
          onChange={(event) => state.set({ order: event.currentTarget.value, sort: '' })}
          data={USER_ORDERS.map((order) => ({ value: order, label: t(orderNames[order]) }))}
        />
      </FilterBar>
      <DataTable
        label={t('用户')}
        list={list}
        columns={columns}
        block={userBlock(texts)}
        pageSize={PAGE_SIZE}
        actionsWidth={hasLongWords ? 328 : 250}
        fewActionsWidth={hasLongWords ? 150 : 132}
        rowActions={rowActions}
        empty={
          state.keyword === '' ? (
            <Empty sentence={t('还没有用户')} />
          ) : (
            <NoMatch
              box={box}
              sentence={t('没有找到与「{{keyword}}」相符的用户', { keyword: state.keyword })}
            />
          )
        }
      />
    </Page>
  )
}
