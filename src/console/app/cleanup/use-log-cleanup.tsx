import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { StampField } from '../../ui/field/stamp-field.tsx'
import { CallFailure } from '../call-client.ts'
import { call, callWhole } from '../call.ts'
import { useHasFeature } from '../status.ts'
import { dayStart, nowSeconds, parseStamp, stampText } from '../time.ts'
import { toast } from '../toast.ts'

/** Default number of days to keep. */
const KEPT_DAYS = 30
/** Interval for polling the progress of a long run, in milliseconds. */
const POLL_MS = 1000

/**
 * Rows that a run has deleted so far; the run may continue after its request, or belong to another
 * user.
 */
function useRun(isWanted: boolean): number | null {
  const isKnown = useHasFeature()('log-cleanup')
  const { data } = useQuery({
    queryKey: ['log-cleanup'],
    queryFn: ({ signal }) => call('GET /api/log/cleanup', {}, { signal, background: true }),
    enabled: isKnown && isWanted,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.running === true ? POLL_MS : false),
  })
  return data?.running === true ? data.deleted : null
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

export interface LogCleanup {
  /** The field in which the moment is entered or chosen. */
  field: ReactNode
  /** The moment in epoch seconds; null if the text is not valid. */
  before: number | null
  /** Progress of the current run; empty without one. */
  progress: string
  askForTime: () => void
  /** Deletes the rows. A thrown failure has already been reported. */
  clear: () => Promise<void>
}

/** Deletes log rows of all users before a moment. `isWanted`: whether to poll for runs. */
export function useLogCleanup(isWanted: boolean): LogCleanup {
  const { t } = useTranslation()
  const client = useQueryClient()
  const [value, setValue] = useState(() => dayStart(nowSeconds(), KEPT_DAYS))
  const [typed, setTyped] = useState(() => stampText(value))
  const deleted = useRun(isWanted)
  const seconds = parseStamp(typed)
  const before = seconds !== null && seconds > 0 ? seconds : null
  const askForTime = () => toast.error(t('请选择有效的时间！'))

  async function clear() {
    const query = { target_timestamp: before ?? 0 }
    try {
      const { data, running } = await callWhole('DELETE /api/log/', { query }, { background: true })
      if (running === true) {
        toast.info(t('已删除 {{count}} 条，其余的仍在后台清理', { count: data }))
        void client.invalidateQueries({ queryKey: ['log-cleanup'] })
      } else toast.success(t('已清理 {{count}} 条日志！', { count: data }))
    } catch (error) {
      toastFailure(error, t)
      throw error
    }
  }
  return {
    field: (
      <StampField
        label={t('清理此时间之前的日志')}
        value={value}
        onCommit={setValue}
        onType={setTyped}
        format={stampText}
        parse={parseStamp}
        timeOfDay="00:00:00"
      />
    ),
    before,
    progress: deleted === null ? '' : t('正在清理，已删除 {{count}} 条', { count: deleted }),
    askForTime,
    clear,
  }
}
