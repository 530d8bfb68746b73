import { useTranslation } from 'react-i18next'
import type { Channel, RunState } from '../../contract/channel-api.ts'
import { call } from '../app/call.ts'
import type { PagedList } from '../app/list/paged-list.ts'
import { useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { Action, ConfirmAction } from '../ui/actions.tsx'
import {
  balanceRun,
  type RunTexts,
  testRun,
  useMarkStarted,
  useRunProgress,
  useRun,
} from './run/channel-runs.ts'
import styles from './channel.module.css'

function Progress({ words, state }: { words: RunTexts; state: RunState }) {
  const { t } = useTranslation()
  const { done, total, failed } = state
  return (
    <output className={styles['progress']}>
      <progress value={done} max={Math.max(1, total)} aria-label={t(words.progress)} />
      {t(failed === 0 ? words.underWay : words.underWayWithFailures, { done, total, failed })}
    </output>
  )
}

interface BulkActionsProps {
  list: PagedList<Channel>
  /** Selected channels have their own actions; progress of runs is still shown. */
  isSelecting: boolean
}

/** Actions on all channels, or on those of a kind. */
export function BulkActions({ list, isSelecting }: BulkActionsProps) {
  const { t } = useTranslation()
  const begun = useMarkStarted()
  // One API would take these paths for a channel named "status", and never updates balances.
  const canAsk = useStatus().gatehouse !== undefined
  const tests = useRun(testRun, canAsk)
  const balances = useRun(balanceRun, canAsk)
  useRunProgress(testRun, tests, list)
  useRunProgress(balanceRun, balances, list)
  const isTesting = tests?.running === true
  const isUpdating = balances?.running === true

  async function test(scope: 'all' | 'disabled') {
    await call('GET /api/channel/test', { query: { scope } })
    if (canAsk) await begun(testRun, scope)
    else toast.info(t('已开始测试，请稍后刷新查看结果'))
  }
  async function updateBalances() {
    await call('GET /api/channel/update_balance', {})
    await begun(balanceRun, 'all')
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
      {!isSelecting && (
        <>
          <ConfirmAction
            label={t('测试全部')}
            question={t('向每个渠道发出一次真实的对话请求？可能产生费用')}
            confirmLabel={t('开始测试')}
            isHarmless
            onClick={() => test('all')}
            {...testing}
          />
          <Action label={t('测试已禁用')} onClick={() => test('disabled')} {...testing} />
          {canAsk && <Action label={t('更新余额')} onClick={updateBalances} {...updating} />}
          <ConfirmAction
            label={t('删除已禁用')}
            question={t('删除所有被禁用的渠道，包括手动禁用和自动禁用的？删除后无法恢复')}
            confirmLabel={t('全部删除')}
            onClick={removeDisabled}
          />
        </>
      )}
      {isTesting && <Progress words={testRun} state={tests} />}
      {isUpdating && <Progress words={balanceRun} state={balances} />}
    </>
  )
}
