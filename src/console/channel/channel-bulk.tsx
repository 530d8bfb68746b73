import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../contract/channel-api.ts'
import { call } from '../app/call.ts'
import type { PagedList } from '../app/paged-list.ts'
import { useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { Action, ConfirmAction } from '../ui/actions.tsx'
import styles from './channel.module.css'

const POLL_MS = 1500
const stateKey = ['channel-test']

/** The bulk test that runs on the server, whoever started it; undefined while unknown. */
function useBulkTest() {
  // A One API server takes the address for the test of a channel named "status".
  const canAsk = useStatus().gatehouse !== undefined
  const { data } = useQuery({
    queryKey: stateKey,
    queryFn: ({ signal }) => call('GET /api/channel/test/status', {}, { signal, background: true }),
    enabled: canAsk,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.running === true ? POLL_MS : false),
  })
  return { state: data, canAsk }
}

type BulkState = ReturnType<typeof useBulkTest>['state']

/** Lets the rows follow a run, and says what it came to when it is over. */
function useFollow(state: BulkState, list: PagedList<Channel>) {
  const { t } = useTranslation()
  const before = useRef<BulkState>(undefined)
  useEffect(() => {
    const last = before.current
    before.current = state
    if (state === undefined || last?.running !== true) return
    const isOver = !state.running
    // Many pages at once are only read again when all is done.
    if (isOver || (state.done !== last.done && list.rowsArePage)) list.refresh()
    if (!isOver) return
    const { done: count, failed } = state
    if (count === 0) toast.info(t('没有需要测试的渠道'))
    else if (failed === 0) toast.success(t('测试完成：{{count}} 个渠道全部通过', { count }))
    else toast.warning(t('测试完成：共 {{count}} 个渠道，{{failed}} 个失败', { count, failed }))
  }, [state, list, t])
}

function Progress({ state }: { state: NonNullable<BulkState> }) {
  const { t } = useTranslation()
  const { done, total, failed } = state
  return (
    <output className={styles['progress']}>
      <progress value={done} max={Math.max(1, total)} aria-label={t('测试进度')} />
      {failed === 0
        ? t('正在测试 {{done}} / {{total}}', { done, total })
        : t('正在测试 {{done}} / {{total}}，{{failed}} 个失败', { done, total, failed })}
    </output>
  )
}

/** What is done to many channels at once. */
export function BulkActions({ list }: { list: PagedList<Channel> }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  const { state, canAsk } = useBulkTest()
  useFollow(state, list)
  const isRunning = state?.running === true
  const why = isRunning ? { why: t('测试正在进行，请等它完成') } : {}

  async function start(scope: 'all' | 'disabled') {
    await call('GET /api/channel/test', { query: { scope } })
    if (!canAsk) {
      toast.info(t('已开始测试，请稍后刷新查看结果'))
      return
    }
    // A short run is over before it can be asked for: it has been seen running nevertheless.
    client.setQueryData(stateKey, { running: true, scope, done: 0, total: 0, failed: 0 })
    await client.invalidateQueries({ queryKey: stateKey })
  }
  async function removeDisabled() {
    const count = await call('DELETE /api/channel/disabled', {})
    list.refresh()
    toast.success(t('已删除 {{count}} 个被禁用的渠道', { count }))
  }
  return (
    <>
      <Action label={t('测试全部')} onClick={() => start('all')} {...why} />
      <Action label={t('测试已禁用')} onClick={() => start('disabled')} {...why} />
      <ConfirmAction
        label={t('删除已禁用')}
        question={t('删除所有被禁用的渠道，包括手动禁用和自动禁用的？删除后无法恢复')}
        confirmLabel={t('全部删除')}
        onClick={removeDisabled}
      />
      {isRunning && <Progress state={state} />}
    </>
  )
}
