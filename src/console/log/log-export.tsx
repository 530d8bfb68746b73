import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { call, callForFile } from '../app/call.ts'
import { DownloadTask, type DownloadControl } from '../app/download/download-task.tsx'
import { mark } from '../app/i18n.ts'
import { useHasFeature } from '../app/status.ts'
import { Toggle } from '../ui/toggle.tsx'
import { allRows, type FileFormat, fileFormats, fileText } from './log-file.ts'
import { toAdminQuery, toQuery } from './log-filter.ts'
import type { LogList } from './log-list.ts'
import styles from './log.module.css'

const formatNames: Record<FileFormat, string> = {
  json: 'JSON',
  csv: mark('CSV（表格软件）'),
  ndjson: mark('NDJSON（每行一条）'),
}

interface Wanted {
  format: FileFormat
  hasBodies: boolean
}

/** The file from the server's export. */
function serverFile(
  { filters, endSeconds, isAdmin }: LogList,
  { format, hasBodies }: Wanted,
  { signal, onProgress }: DownloadControl,
): Promise<Blob> {
  const tz = Intl.DateTimeFormat().resolvedOptions().timeZone
  const form = { format, tz, bodies: hasBodies ? 'true' : '' }
  const options = {
    signal,
    background: true,
    onBytes: (count: number) => onProgress({ unit: 'bytes', count }),
  }
  return isAdmin
    ? callForFile(
        'GET /api/log/export/',
        { query: { ...toAdminQuery(filters, endSeconds), ...form } },
        options,
      )
    : callForFile(
        'GET /api/log/self/export/',
        { query: { ...toQuery(filters, endSeconds), ...form } },
        options,
      )
}

/** The same file built in the browser, page by page: One API has no export. */
async function ownFile(
  { filters, endSeconds, isAdmin }: LogList,
  { format }: Wanted,
  { signal, onProgress }: DownloadControl,
): Promise<Blob> {
  const options = { signal, background: true }
  const paging = (p: number) => ({ p, before: '' })
  const rows = await allRows(
    (p) =>
      isAdmin
        ? call(
            'GET /api/log/',
            { query: { ...toAdminQuery(filters, endSeconds), ...paging(p) } },
            options,
          )
        : call(
            'GET /api/log/self',
            { query: { ...toQuery(filters, endSeconds), ...paging(p) } },
            options,
          ),
    (count) => onProgress({ unit: 'rows', count }),
  )
  return new Blob([fileText(rows, format)])
}

/** Exports all filtered rows as a file. */
export function ExportButton({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  const [wanted, setWanted] = useState<Wanted>({ format: 'json', hasBodies: false })
  const makeFile = hasFeature('log-export') ? serverFile : ownFile
  return (
    <DownloadTask
      label={t('导出')}
      fileName={`logs.${wanted.format}`}
      makeFile={(watch) => makeFile(list, wanted, watch)}
    >
      {(isBusy) => (
        <>
          <p className={styles['quiet']}>{t('导出符合当前筛选条件的全部记录')}</p>
          <NativeSelect
            label={t('格式')}
            value={wanted.format}
            disabled={isBusy}
            onChange={({ currentTarget }) => {
              const format = fileFormats.find((name) => name === currentTarget.value) ?? 'json'
              setWanted({ ...wanted, format })
            }}
            data={fileFormats.map((format) => ({ value: format, label: t(formatNames[format]) }))}
          />
          {hasFeature('log-bodies') && (
            <Toggle
              label={t('包含已记录的请求与响应')}
              isOn={wanted.hasBodies}
              onChange={(hasBodies) => setWanted({ ...wanted, hasBodies })}
            />
          )}
        </>
      )}
    </DownloadTask>
  )
}
