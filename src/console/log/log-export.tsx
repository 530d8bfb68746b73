import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Loader.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, NativeSelect, Popover } from '@mantine/core'
import type { TFunction } from 'i18next'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../app/call-client.ts'
import { call, callForFile } from '../app/call.ts'
import { mark } from '../app/i18n.ts'
import { useHasFeature } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { downloadBlob } from '../ui/file/download.ts'
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

interface Watch {
  signal: AbortSignal
  onProgress: (progress: Progress) => void
}
interface Progress {
  unit: 'bytes' | 'rows'
  count: number
}

/** The file as the server makes it. */
function serverFile(
  { filters, endSeconds, isAdmin }: LogList,
  { format, hasBodies }: Wanted,
  { signal, onProgress }: Watch,
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

/** The same made here, page by page: a One API server exports nothing. */
async function ownFile(
  { filters, endSeconds, isAdmin }: LogList,
  { format }: Wanted,
  { signal, onProgress }: Watch,
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

const MEBIBYTE = 1024 * 1024

function progressText({ unit, count }: Progress, t: TFunction): string {
  if (unit === 'rows') return t('已读取 {{rows}} 条', { rows: count })
  return t('已下载 {{size}} MB', { size: (count / MEBIBYTE).toFixed(1) })
}

function toastFailure(error: unknown, t: TFunction): void {
  const failure = error instanceof CallFailure ? error : null
  if (failure?.endsSession === true) return
  const reason = failure?.message ?? ''
  toast.error(reason === '' ? t('下载失败') : t('导出数据错误：{{reason}}', { reason }))
}

function useExport(list: LogList) {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  const [progress, setProgress] = useState<Progress | null>(null)
  const running = useRef<AbortController | null>(null)
  return {
    progress,
    cancel: () => running.current?.abort(),
    async run(wanted: Wanted): Promise<boolean> {
      const stopper = new AbortController()
      running.current = stopper
      setProgress({ unit: 'bytes', count: 0 })
      const makeFile = hasFeature('log-export') ? serverFile : ownFile
      try {
        const watch = { signal: stopper.signal, onProgress: setProgress }
        downloadBlob(`logs.${wanted.format}`, await makeFile(list, wanted, watch))
        return true
      } catch (error) {
        if (!stopper.signal.aborted) toastFailure(error, t)
        return false
      } finally {
        setProgress(null)
      }
    },
  }
}

/** Saves the filtered rows, all of them, as a file. */
export function ExportButton({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const knowsBodies = useHasFeature()('log-bodies')
  const [isOpen, setIsOpen] = useState(false)
  const [wanted, setWanted] = useState<Wanted>({ format: 'json', hasBodies: false })
  const { progress, cancel, run } = useExport(list)
  const isBusy = progress !== null
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isBusy ? progressText(progress, t) : t('导出')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={styles['task'] ?? ''} aria-label={t('导出')}>
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
        {knowsBodies && (
          <Toggle
            label={t('包含已记录的请求与响应')}
            isOn={wanted.hasBodies}
            onChange={(hasBodies) => setWanted({ ...wanted, hasBodies })}
          />
        )}
        <div className={styles['answers']}>
          <span className={styles['progress']} aria-live="polite">
            {isBusy ? progressText(progress, t) : ''}
          </span>
          {isBusy && (
            <Button size="xs" variant="default" onClick={cancel}>
              {t('取消')}
            </Button>
          )}
          <Button
            size="xs"
            loading={isBusy}
            onClick={() => void run(wanted).then((isDone) => isDone && setIsOpen(false))}
          >
            {t('下载文件')}
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
