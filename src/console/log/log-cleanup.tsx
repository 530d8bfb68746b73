import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Loader.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, Popover } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../app/call-client.ts'
import { call, callWhole } from '../app/call.ts'
import { useHasFeature } from '../app/status.ts'
import { dayStart, nowSeconds, parseStamp, stampText } from '../app/time.ts'
import { toast } from '../app/toast.ts'
import { StampField } from '../ui/field/stamp-field.tsx'
import type { LogList } from './log-list.ts'
import styles from './log.module.css'

const DEFAULT_DAYS = 30
const POLL_MS = 1000

/** A run that goes on after its call was answered, or that somebody else has begun. */
function useRun(isWanted: boolean) {
  const isKnown = useHasFeature()('log-cleanup')
  const { data } = useQuery({
    queryKey: ['log-cleanup'],
    queryFn: ({ signal }) => call('GET /api/log/cleanup', {}, { signal, background: true }),
    enabled: isKnown && isWanted,
    refetchInterval: ({ state }) => (state.data?.running === true ? POLL_MS : false),
  })
  return data?.running === true ? data : null
}

function toastFailure(error: unknown, t: TFunction): void {
  const failure = error instanceof CallFailure ? error : null
  if (failure?.endsSession === true) return
  toast.error(
    failure?.refused === true
      ? t('日志清理失败：{{message}}', { message: failure.message })
      : t('删除失败，请稍后再试'),
  )
}

/** Deletes everybody's rows before a moment. For administrators. */
export function CleanupButton({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const [target, setTarget] = useState(() => dayStart(nowSeconds(), DEFAULT_DAYS))
  const [typed, setTyped] = useState(() => stampText(target))
  const [isBusy, setIsBusy] = useState(false)
  const run = useRun(isOpen)

  async function clean() {
    const seconds = parseStamp(typed)
    if (seconds === null || seconds <= 0) {
      toast.error(t('请选择有效的时间'))
      return
    }
    setIsBusy(true)
    try {
      const { data, running } = await callWhole(
        'DELETE /api/log/',
        { query: { target_timestamp: seconds } },
        { background: true },
      )
      const rows = data.toLocaleString('en-US')
      if (running === true) toast.info(t('已删除 {{rows}} 条，其余的仍在后台清理', { rows }))
      else toast.success(t('已删除 {{rows}} 条日志', { rows }))
      setIsOpen(false)
      list.table.refresh()
    } catch (error) {
      toastFailure(error, t)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Button
          variant="default"
          data-harm
          className={styles['harm'] ?? ''}
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          {t('清理历史日志')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={styles['task'] ?? ''} aria-label={t('清理历史日志')}>
        <p>{t('删除所有用户在此时间之前的日志，无法恢复')}</p>
        <StampField
          label={t('清理到')}
          value={target}
          onCommit={setTarget}
          onType={setTyped}
          format={stampText}
          parse={parseStamp}
          timeOfDay="00:00:00"
        />
        <p className={styles['quiet']}>{t('余额、额度与每日统计不受影响')}</p>
        <div className={styles['answers']}>
          <span className={styles['progress']} aria-live="polite">
            {run !== null &&
              t('正在清理，已删除 {{rows}} 条', { rows: run.deleted.toLocaleString('en-US') })}
          </span>
          <Button size="xs" variant="default" onClick={() => setIsOpen(false)}>
            {t('取消')}
          </Button>
          <Button
            size="xs"
            color="red"
            loading={isBusy}
            disabled={run !== null}
            onClick={() => void clean()}
          >
            {t('删除日志')}
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
