import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { callForFile } from '../app/call.ts'
import { DownloadTask } from '../app/download-task.tsx'
import { useHasFeature } from '../app/status.ts'

interface AuditQuery {
  action: string
  actor: string
  target: string
  start_timestamp: number
  end_timestamp: number
}

/** Name of the reader's time zone. */
const timeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** Exports all filtered entries as a file. */
export function AuditExport({ query }: { query: AuditQuery }) {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  const [format, setFormat] = useState<'csv' | 'ndjson'>('csv')
  if (!hasFeature('audit-export')) return null
  return (
    <DownloadTask
      label={t('导出')}
      fileName={`audit.${format}`}
      makeFile={({ signal, onProgress }) =>
        callForFile(
          'GET /api/audit/export/',
          { query: { ...query, format, tz: timeZone() } },
          { signal, background: true, onBytes: (count) => onProgress({ unit: 'bytes', count }) },
        )
      }
    >
      {(isBusy) => (
        <>
          <p>{t('导出符合当前筛选条件的全部记录')}</p>
          <NativeSelect
            label={t('格式')}
            value={format}
            disabled={isBusy}
            onChange={({ currentTarget }) =>
              setFormat(currentTarget.value === 'ndjson' ? 'ndjson' : 'csv')
            }
            data={[
              { value: 'csv', label: t('CSV（表格软件）') },
              { value: 'ndjson', label: t('NDJSON（每行一条）') },
            ]}
          />
        </>
      )}
    </DownloadTask>
  )
}
