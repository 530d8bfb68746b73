import '@mantine/core/styles/Menu.layer.css'
import { Button, Menu, NativeSelect } from '@mantine/core'
import { use, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { PAGE_SIZE } from '../../contract/paging.ts'
import type { Token } from '../../contract/token-api.ts'
import { TOKEN_ORDERS, TokenStatus } from '../../contract/token.ts'
import { publicBase } from '../app/base.ts'
import { call, callWhole } from '../app/call.ts'
import { EditLink } from '../app/form/list-navigation.tsx'
import { LinkButton } from '../app/link-button.tsx'
import { useListState } from '../app/list/list-state.ts'
import { NoMatch } from '../app/list/no-match.tsx'
import { type PagedList, usePagedList } from '../app/list/paged-list.ts'
import { useHasFeature, useQuotaText, useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { Action, ConfirmAction, ToggleAction } from '../ui/actions.tsx'
import { copyText } from '../ui/copy/copy-text.ts'
import { DataTable } from '../ui/data-table.tsx'
import { FilterBar, SearchField, useSearchBox } from '../ui/filter-bar.tsx'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { ActMenuAround } from '../ui/table/act-menu.ts'
import { Dots, RowActs } from '../ui/table/row-acts.tsx'
import { tokenBlock, tokenColumns, type TokenTexts } from './token-columns.tsx'
import {
  curlText,
  environmentText,
  fullKey,
  hiddenKey,
  maskedKey,
  oneLine,
} from './token-copies.ts'
import { useChoosableGroups } from './token-group.ts'
import { RotateDialog } from './token-key-dialog.tsx'
import { useMoment } from './token-moment.ts'
import { orderNames, orders, toOrder } from './token-order.ts'
import { enableDenialReason, presentStatus } from './token-state.ts'

function useTokenList() {
  const state = useListState()
  const order = toOrder(state.get('order'))
  return usePagedList<Token>({
    name: 'tokens',
    state,
    filters: { order },
    loadPage: (p, signal) => callWhole('GET /api/token/', { query: { p, order } }, { signal }),
    search: (keyword, signal) => call('GET /api/token/search', { query: { keyword } }, { signal }),
    compare: orders[order],
  })
}

function useTokenTexts(tokens: readonly Token[]): TokenTexts {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  const groups = useChoosableGroups()
  const moment = useMoment(tokens)
  return useMemo(
    () => ({ t, quotaText, nowSeconds: moment, groups }),
    [t, quotaText, moment, groups],
  )
}

interface RowActionsProps {
  token: Token
  list: PagedList<Token>
  /** Current time of the row, in epoch seconds. */
  nowSeconds: number
  /** Called with a text that could not be copied to the clipboard. */
  onUncopied: (text: string) => void
  onRotate: (token: Token) => void
}

function RowActions({ token, list, nowSeconds, onUncopied, onRotate }: RowActionsProps) {
  const { t } = useTranslation()
  const hasRotation = useHasFeature()('token-rotation')
  // The button follows the displayed state: the stored status may be outdated.
  const isEnabled = presentStatus(token, nowSeconds) === TokenStatus.enabled
  const reason = isEnabled ? '' : enableDenialReason(token, nowSeconds)

  async function copy(text: string) {
    if (await copyText(text)) toast.success(t('已复制到剪贴板！'))
    else onUncopied(text)
  }
  async function toggle() {
    const status = isEnabled ? TokenStatus.disabled : TokenStatus.enabled
    const body = { id: token.id, status }
    const changed = await call('PUT /api/token/?status_only', { body })
    list.update(token.id, { status: changed.status })
    toast.success(t('操作成功完成！'))
  }
  async function remove() {
    await call('DELETE /api/token/:id', { params: { id: token.id } })
    list.remove(token.id)
    toast.success(t('操作成功完成！'))
  }
  const drop = (
    <ConfirmAction
      label={t('删除')}
      question={t('删除令牌「{{name}}」？使用它的程序会立即无法调用', {
        name: token.name || maskedKey(token),
      })}
      confirmLabel={t('删除令牌')}
      onClick={remove}
    />
  )
  const rotate = hasRotation ? () => onRotate(token) : undefined
  // A key that was shown once cannot be copied.
  const isCopyable = !token.key_shown_once
  return (
    <RowActs
      acts={[
        ...(isCopyable
          ? [
              {
                id: 'copy',
                node: <Action label={t('复制')} onClick={() => copy(fullKey(token))} />,
              },
            ]
          : []),
        {
          id: 'toggle',
          isRare: true,
          node: (
            <ToggleAction
              isOn={isEnabled}
              onClick={toggle}
              {...(reason === '' ? {} : { why: t(reason) })}
            />
          ),
        },
        { id: 'edit', node: <EditLink to={paths.tokenEdit(token.id)} /> },
        ...(isCopyable || hasRotation
          ? [{ id: 'copies', isRare: true, node: <KeyMenu {...{ token, copy, rotate }} /> }]
          : []),
        { id: 'delete', isRare: true, node: drop },
      ]}
    />
  )
}

interface KeyMenuProps {
  token: Token
  copy: (text: string) => Promise<void>
  /** Undefined if the server cannot replace keys. */
  rotate: (() => void) | undefined
}

/** Ways to copy a key, as far as it can be copied, and its replacement. */
function KeyMenu({ token, copy, rotate }: KeyMenuProps) {
  const { t } = useTranslation()
  const base = publicBase(useStatus().server_address ?? '')
  const copies = [
    { label: t('复制为 curl 命令'), run: () => copy(curlText(token, base)) },
    { label: t('复制为环境变量'), run: () => copy(environmentText(token, base)) },
  ]
  const entries = [
    ...(token.key_shown_once ? [] : copies),
    ...(rotate === undefined ? [] : [{ label: t('更换密钥'), run: rotate }]),
  ]
  if (use(ActMenuAround) !== undefined) {
    return entries.map(({ label, run }) => <Action key={label} label={label} onClick={run} />)
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="xs" variant="default" aria-label={t('更多密钥操作')}>
          <Dots />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {entries.map(({ label, run }) => (
          <Menu.Item key={label} onClick={() => void run()}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

export function TokenListPage() {
  const { t } = useTranslation()
  const list = useTokenList()
  const { state } = list
  const box = useSearchBox(state.keyword, list.search)
  const [rotating, setRotating] = useState<Token | null>(null)
  const texts = useTokenTexts(list.rows)
  const columns = useMemo(() => tokenColumns(texts), [texts])
  const add = <LinkButton to={paths.tokenAdd}>{t('添加令牌')}</LinkButton>

  function showUncopied(text: string) {
    box.fill(oneLine(text))
    toast.warning(t('无法复制到剪贴板，请手动复制，内容已填入搜索框'))
  }
  const rowActions = (token: Token) => (
    <RowActions
      token={token}
      list={list}
      nowSeconds={texts.nowSeconds}
      onUncopied={showUncopied}
      onRotate={setRotating}
    />
  )
  return (
    <Page
      title={t('令牌')}
      facts={list.total === null ? '' : t('{{count}} 个', { count: list.total })}
      actions={add}
    >
      <FilterBar>
        <SearchField box={box} placeholder={t('搜索令牌的名称或密钥首尾')} />
        <NativeSelect
          aria-label={t('排序方式')}
          value={toOrder(state.get('order'))}
          onChange={(event) => state.set({ order: event.currentTarget.value, sort: '' })}
          data={TOKEN_ORDERS.map((order) => ({ value: order, label: t(orderNames[order]) }))}
        />
      </FilterBar>
      <DataTable
        label={t('令牌')}
        list={list}
        columns={columns}
        block={tokenBlock(texts)}
        pageSize={PAGE_SIZE}
        actionsWidth={290}
        rowActions={rowActions}
        empty={
          state.keyword === '' ? (
            <Empty sentence={t('还没有令牌。程序用令牌来调用模型')} action={add} />
          ) : (
            <NoMatch
              box={box}
              sentence={t('没有名称或密钥符合「{{keyword}}」的令牌', { keyword: state.keyword })}
            />
          )
        }
      />
      {rotating !== null && (
        <RotateDialog
          token={rotating}
          nowSeconds={texts.nowSeconds}
          // The list shows a key that was shown once as the server does.
          onChanged={({ key, ...rest }) =>
            list.update(rotating.id, { ...rest, key: rest.key_shown_once ? hiddenKey(key) : key })
          }
          onClose={() => setRotating(null)}
        />
      )}
    </Page>
  )
}
