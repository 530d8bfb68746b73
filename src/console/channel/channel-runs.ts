import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel, RunState } from '../../contract/channel-api.ts'
import { call } from '../app/call.ts'
import { mark } from '../app/i18n.ts'
import type { PagedList } from '../app/list/paged-list.ts'
import { toast } from '../app/toast.ts'

const POLL_MS = 1500

/** Runs over all channels (tests, balances), with their texts. */
export interface RunTexts {
  key: string
  address: 'GET /api/channel/test/status' | 'GET /api/channel/update_balance/status'
  progress: string
  underWay: string
  underWayWithFailures: string
  nothing: string
  well: string
  withFailures: string
  /** Used if the server reports why the first one failed. */
  withReason: string
}

export const testRun: RunTexts = {
  key: 'channel-test',
  address: 'GET /api/channel/test/status',
  progress: mark('测试进度'),
  underWay: mark('正在测试 {{done}} / {{total}}'),
  underWayWithFailures: mark('正在测试 {{done}} / {{total}}，{{failed}} 个失败'),
  nothing: mark('没有需要测试的渠道'),
  well: mark('测试完成：{{count}} 个渠道全部通过'),
  withFailures: mark('测试完成：共 {{count}} 个渠道，{{failed}} 个失败'),
  withReason: mark(
    '测试完成：共 {{count}} 个渠道，{{failed}} 个失败。「{{channel}}」：{{message}}',
  ),
}

export const balanceRun: RunTexts = {
  key: 'channel-balance',
  address: 'GET /api/channel/update_balance/status',
  progress: mark('余额查询进度'),
  underWay: mark('正在查询余额 {{done}} / {{total}}'),
  underWayWithFailures: mark('正在查询余额 {{done}} / {{total}}，{{failed}} 个失败'),
  nothing: mark('没有可以查询余额的渠道'),
  well: mark('余额查询完成：{{count}} 个渠道全部更新'),
  withFailures: mark('余额查询完成：共 {{count}} 个渠道，{{failed}} 个失败'),
  withReason: mark(
    '余额查询完成：共 {{count}} 个渠道，{{failed}} 个失败。「{{channel}}」：{{message}}',
  ),
}

/** The server's run of this kind, started by any user; undefined until known. */
export function useRun({ key, address }: RunTexts, canAsk: boolean): RunState | undefined {
  const { data } = useQuery({
    queryKey: [key],
    queryFn: ({ signal }) => call(address, {}, { signal, background: true }),
    enabled: canAsk,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.running === true ? POLL_MS : false),
  })
  return data
}

/** Refreshes the rows during a run, and reports its result at the end. */
export function useRunProgress(
  words: RunTexts,
  state: RunState | undefined,
  list: PagedList<Channel>,
) {
  const { t } = useTranslation()
  const before = useRef<RunState>(undefined)
  useEffect(() => {
    const last = before.current
    before.current = state
    if (state === undefined || last?.running !== true) return
    const isOver = !state.running
    // A list of several pages is only reloaded at the end.
    if (isOver || (state.done !== last.done && list.rowsArePage)) list.refresh()
    if (!isOver) return
    const { done: count, failed, first_failure: first = null } = state
    if (count === 0) toast.info(t(words.nothing))
    else if (failed === 0) toast.success(t(words.well, { count }))
    else if (first === null) toast.warning(t(words.withFailures, { count, failed }))
    else toast.warning(t(words.withReason, { count, failed, ...first }))
  }, [state, list, words, t])
}

/** Marks a run as started, so that all components follow it. */
export function useMarkStarted(): (words: RunTexts, scope: string) => Promise<void> {
  const client = useQueryClient()
  return async ({ key }, scope) => {
    // A short run may end before the first poll: it still counts as seen.
    const begun: RunState = {
      running: true,
      scope,
      done: 0,
      total: 0,
      failed: 0,
      first_failure: null,
    }
    client.setQueryData([key], begun)
    await client.invalidateQueries({ queryKey: [key] })
  }
}
