import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel, RunState } from '../../contract/channel-api.ts'
import { call } from '../app/call.ts'
import { mark } from '../app/i18n.ts'
import type { PagedList } from '../app/list/paged-list.ts'
import { useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { Action, ConfirmAction } from '../ui/actions.tsx'
import styles from './channel.module.css'

const POLL_MS = 1500

/** What a run over many channels is called, and what it says of itself. */
interface RunWords {
  key: string
  address: 'GET /api/channel/test/status' | 'GET /api/channel/update_balance/status'
  progress: string
  underWay: string
  underWayWithFailures: string
  nothing: string
  well: string
  withFailures: string
}

const testRun: RunWords = {
  key: 'channel-test',
  address: 'GET /api/channel/test/status',
  progress: mark('测试进度'),
  underWay: mark('正在测试 {{done}} / {{total}}'),
  underWayWithFailures: mark('正在测试 {{done}} / {{total}}，{{failed}} 个失败'),
  nothing: mark('没有需要测试的渠道'),
  well: mark('测试完成：{{count}} 个渠道全部通过'),
  withFailures: mark('测试完成：共 {{count}} 个渠道，{{failed}} 个失败'),
}

const balanceRun: RunWords = {
  key: 'channel-balance',
  address: 'GET /api/channel/update_balance/status',
  progress: mark('余额查询进度'),
  underWay: mark('正在查询余额 {{done}} / {{total}}'),
  underWayWithFailures: mark('正在查询余额 {{done}} / {{total}}，{{failed}} 个失败'),
  nothing: mark('没有可以查询余额的渠道'),
  well: mark('余额查询完成：{{count}} 个渠道全部更新'),
  withFailures: mark('余额查询完成：共 {{count}} 个渠道，{{failed}} 个失败'),
}

/** The run of this kind on the server, whoever started it; undefined while unknown. */
function useRun({ key, address }: RunWords, canAsk: boolean): RunState | undefined {
  const { data } = useQuery({
    queryKey: [key],
    queryFn: ({ signal }) => call(address, {}, { signal, background: true }),
    enabled: canAsk,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.running === true ? POLL_MS : false),
  })
  return data
}

/** Lets the rows follow a run, and says what it came to when it is over. */
function useFollow(words: RunWords, state: RunState | undefined, list: PagedList<Channel>) {
  const { t } = useTranslation()
  const before = useRef<RunState>(undefined)
  useEffect(() => {
    const last = before.current
    before.current = state
    if (state === undefined || last?.running !== true) return
    const isOver = !state.running
    // Many pages at once are only read again when all is done.
    if (isOver || (state.done !== last.done && list.rowsArePage)) list.refresh()
    if (!isOver) return
    const { done: count, failed } = state
    if (count === 0) toast.info(t(words.nothing))
    else if (failed === 0) toast.success(t(words.well, { count }))
    else toast.warning(t(words.withFailures, { count, failed }))
  }, [state, list, words, t])
}

function Progress({ words, state }: { words: RunWords; state: RunState }) {
  const { t } = useTranslation()
  const { done, total, failed } = state
  return (
    <output className={styles['progress']}>
      <progress value={done} max={Math.max(1, total)} aria-label={t(words.progress)} />
      {t(failed === 0 ? words.underWay : words.underWayWithFailures, { done, total, failed })}
    </output>
  )
}

/** What is done to many channels at once. */
export function BulkActions({ list }: { list: PagedList<Channel> }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  // A One API server takes the addresses for channels named "status", and never updates balances.
  const canAsk = useStatus().gatehouse !== undefined
  const tests = useRun(testRun, canAsk)
  const balances = useRun(balanceRun, canAsk)
  useFollow(testRun, tests, list)
  useFollow(balanceRun, balances, list)
  const isTesting = tests?.running === true
  const isUpdating = balances?.running === true

  async function follow({ key }: RunWords, scope: string) {
    // A short run is over before it can be asked for: it has been seen running nevertheless.
    client.setQueryData([key], { running: true, scope, done: 0, total: 0, failed: 0 })
    await client.invalidateQueries({ queryKey: [key] })
  }
  async function test(scope: 'all' | 'disabled') {
    await call('GET /api/channel/test', { query: { scope } })
    if (canAsk) await follow(testRun, scope)
    else toast.info(t('已开始测试，请稍后刷新查看结果'))
  }
  async function updateBalances() {
    await call('GET /api/channel/update_balance', {})
    await follow(balanceRun, 'all')
  }
  async function removeDisabled() {
    const count = await call('DELETE /api/channel/disabled', {})
    list.refresh()
    toast.success(t('已删除 {{count}} 个被禁用的渠道', { count }))
  }
  const testing = isTesting ? { why: t('测试正在进行，请等它完成') } : {}
  const updating = isUpdating ? { why: t('余额查询正在进行，请等它完成') } : {}
  return (
    <>
      <Action label={t('测试全部')} onClick={() => test('all')} {...testing} />
      <Action label={t('测试已禁用')} onClick={() => test('disabled')} {...testing} />
      {canAsk && <Action label={t('更新余额')} onClick={updateBalances} {...updating} />}
      <ConfirmAction
        label={t('删除已禁用')}
        question={t('删除所有被禁用的渠道，包括手动禁用和自动禁用的？删除后无法恢复')}
        confirmLabel={t('全部删除')}
        onClick={removeDisabled}
      />
      {isTesting && <Progress words={testRun} state={tests} />}
      {isUpdating && <Progress words={balanceRun} state={balances} />}
    </>
  )
}
