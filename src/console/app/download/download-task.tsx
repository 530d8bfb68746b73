import '@mantine/core/styles/Button.layer.css'
import { Button } from '@mantine/core'
import type { TFunction } from 'i18next'
import { type ReactNode, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { BusyButton } from '../../ui/busy/busy-button.tsx'
import { downloadBlob } from '../../ui/file/download.ts'
import { TaskPopover } from '../../ui/float/task-popover.tsx'
import { CallFailure } from '../call-client.ts'
import { toast } from '../toast.ts'

interface Progress {
  unit: 'bytes' | 'rows'
  count: number
}

/** Lets a function that produces a file be cancelled and report its progress. */
export interface DownloadControl {
  signal: AbortSignal
  onProgress: (progress: Progress) => void
}

const MEBIBYTE = 1024 * 1024

function progressText(progress: Progress | null, t: TFunction): string {
  if (progress === null) return ''
  const { unit, count } = progress
  if (unit === 'rows') return t('已读取 {{rows}} 条', { rows: count })
  return t('已下载 {{size}} MB', { size: (count / MEBIBYTE).toFixed(1) })
}

function toastFailure(error: unknown, t: TFunction): void {
  const failure = error instanceof CallFailure ? error : null
  if (failure?.endsSession === true) return
  const reason = failure?.message ?? ''
  toast.error(reason === '' ? t('下载失败') : t('导出数据错误：{{reason}}', { reason }))
}

function useDownload(fileName: string, makeFile: (control: DownloadControl) => Promise<Blob>) {
  const { t } = useTranslation()
  const [progress, setProgress] = useState<Progress | null>(null)
  const running = useRef<AbortController | null>(null)
  return {
    progress,
    cancel: () => running.current?.abort(),
    async run(): Promise<boolean> {
      const stopper = new AbortController()
      running.current = stopper
      setProgress({ unit: 'bytes', count: 0 })
      try {
        const watch = { signal: stopper.signal, onProgress: setProgress }
        downloadBlob(fileName, await makeFile(watch))
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

interface DownloadTaskProps {
  label: string
  fileName: string
  makeFile: (control: DownloadControl) => Promise<Blob>
  /** Options above the buttons. */
  children: (isBusy: boolean) => ReactNode
}

/** Saves a file that takes time to produce, with progress and a cancel button. */
export function DownloadTask({ label, fileName, makeFile, children }: DownloadTaskProps) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const { progress, cancel, run } = useDownload(fileName, makeFile)
  const isBusy = progress !== null
  const text = progressText(progress, t)
  return (
    <TaskPopover
      label={label}
      buttonText={isBusy ? text : label}
      isOpen={isOpen}
      onOpen={setIsOpen}
      progress={text}
      answers={
        <>
          {isBusy && (
            <Button size="xs" variant="default" onClick={cancel}>
              {t('取消')}
            </Button>
          )}
          <BusyButton
            size="xs"
            isBusy={isBusy}
            onClick={() => void run().then((isDone) => isDone && setIsOpen(false))}
          >
            {t('下载文件')}
          </BusyButton>
        </>
      }
    >
      {children(isBusy)}
    </TaskPopover>
  )
}
