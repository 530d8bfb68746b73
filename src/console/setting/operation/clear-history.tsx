import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../../app/call-client.ts'
import { call, callWhole } from '../../app/call.ts'
import { dayStart, nowSeconds, parseStamp, stampText } from '../../app/time.ts'
import { toast } from '../../app/toast.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import { StampField } from '../../ui/field/stamp-field.tsx'
import styles from '../option/option.module.css'

/** Days that are offered to be kept. */
const KEPT_DAYS = 30
/** How often a long run is asked how far it is. */
const POLL_MS = 1000

const pause = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/** Deletes and waits for the end, however long it takes; answers the number of rows. */
async function deleteBefore(seconds: number, onProgress: (deleted: number) => void) {
  const query = { target_timestamp: seconds }
  const { data, running } = await callWhole('DELETE /api/log/', { query }, { background: true })
  let deleted = data
  let isRunning = running === true
  while (isRunning) {
    onProgress(deleted)
    await pause(POLL_MS)
    const run = await call('GET /api/log/cleanup', {}, { background: true })
    deleted = run.deleted
    isRunning = run.running
  }
  return deleted
}

/** Deletes the log rows of everybody before a moment. */
export function ClearHistory() {
  const { t } = useTranslation()
  const [before, setBefore] = useState(() => dayStart(nowSeconds(), KEPT_DAYS))
  const [typed, setTyped] = useState<string | null>(null)
  const [progress, setProgress] = useState<number | null>(null)
  const isValid = typed === null || parseStamp(typed) !== null

  async function clear() {
    try {
      const deleted = await deleteBefore(before, setProgress)
      toast.success(t('已清理 {{count}} 条日志！', { count: deleted }))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      if (!error.endsSession) {
        toast.error(t('日志清理失败：{{message}}', { message: error.message }))
      }
      throw error
    } finally {
      setProgress(null)
    }
  }
  const label = t('清理历史日志')
  return (
    <div className={styles['panel']}>
      <div className={styles['line']}>
        <StampField
          label={t('清理此时间之前的日志')}
          value={before}
          onCommit={setBefore}
          onType={setTyped}
          format={stampText}
          parse={parseStamp}
          timeOfDay="00:00:00"
        />
        {isValid ? (
          <ConfirmAction
            size="sm"
            label={label}
            question={t('删除 {{stamp}} 之前所有用户的日志？删除后无法恢复', {
              stamp: stampText(before),
            })}
            confirmLabel={t('删除日志')}
            onClick={clear}
          />
        ) : (
          <Action size="sm" label={label} onClick={() => toast.error(t('请选择有效的时间！'))} />
        )}
      </div>
      <output>
        {progress === null
          ? t('删除此时间之前的日志明细；额度和统计图不受影响')
          : t('正在清理，已删除 {{count}} 条', { count: progress })}
      </output>
    </div>
  )
}
