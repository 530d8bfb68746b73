import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { callForFile } from '../app/call.ts'
import { DownloadTask, type DownloadControl } from '../app/download/download-task.tsx'
import { dayStart, dateText, nowSeconds, parseStamp } from '../app/time.ts'
import { StampField } from '../ui/field/stamp-field.tsx'
import { type RangeName, rangeQuery } from './overview.ts'
import styles from './dashboard.module.css'

/** Start of the first and of the last day, in epoch seconds. */
interface Days {
  first: number
  last: number
}

function daysOf(range: RangeName): Days {
  const now = nowSeconds()
  return { first: dayStart(rangeQuery(range, now).start_timestamp, 0), last: dayStart(now, 0) }
}

function usageFile({ first, last }: Days, { signal, onProgress }: DownloadControl): Promise<Blob> {
  const onBytes = (count: number) => onProgress({ unit: 'bytes', count })
  const query = { start_timestamp: first, end_timestamp: dayStart(last, -1) }
  return callForFile('GET /api/dashboard/export', { query }, { signal, background: true, onBytes })
}

/** Start of the day of an entered timestamp. */
function parseDay(text: string): number | null {
  const seconds = parseStamp(text)
  return seconds === null ? null : dayStart(seconds, 0)
}

interface DayFieldProps {
  label: string
  day: number
  onDay: (day: number) => void
}

function DayField({ label, day, onDay }: DayFieldProps) {
  return (
    <div className={styles['day']}>
      <span aria-hidden="true">{label}</span>
      <StampField
        label={label}
        value={day}
        onCommit={onDay}
        format={dateText}
        parse={parseDay}
        timeOfDay=""
      />
    </div>
  )
}

/** Exports the usage of all users for a range of days, by default the displayed one. */
export function UsageExport({ range }: { range: RangeName }) {
  const { t } = useTranslation()
  const [days, setDays] = useState(() => daysOf(range))
  return (
    <DownloadTask
      label={t('导出用量')}
      fileName={`usage_${dateText(days.first)}_${dateText(days.last)}.csv`}
      makeFile={(watch) => usageFile(days, watch)}
    >
      {() => (
        <>
          <p className={styles['quiet']}>{t('全部用户的用量，按用户和模型汇总，含合计')}</p>
          <div className={styles['days']}>
            <DayField
              label={t('开始日期')}
              day={days.first}
              onDay={(first) => setDays({ ...days, first })}
            />
            <DayField
              label={t('结束日期')}
              day={days.last}
              onDay={(last) => setDays({ ...days, last })}
            />
          </div>
        </>
      )}
    </DownloadTask>
  )
}
