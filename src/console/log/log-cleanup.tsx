import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Loader.layer.css'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLogCleanup } from '../app/cleanup/use-log-cleanup.tsx'
import { BusyButton } from '../ui/busy/busy-button.tsx'
import { TaskPopover } from '../ui/float/task-popover.tsx'
import type { LogList } from './log-list.ts'
import styles from './log.module.css'

/** Deletes log rows of all users before a moment. For administrators. */
export function CleanupButton({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const [isBusy, setIsBusy] = useState(false)
  const { field, before, progress, askForTime, clear } = useLogCleanup(isOpen)

  async function clearAndClose() {
    setIsBusy(true)
    try {
      await clear()
      setIsOpen(false)
      list.table.refresh()
    } catch {
      // The failure has been reported; the dialog stays open for another attempt.
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <TaskPopover
      label={t('清理历史日志')}
      isHarmful
      isOpen={isOpen}
      onOpen={setIsOpen}
      progress={progress}
      answers={
        <>
          <Button size="xs" variant="default" onClick={() => setIsOpen(false)}>
            {t('取消')}
          </Button>
          <BusyButton
            size="xs"
            color="red"
            isBusy={isBusy}
            isIdle={progress !== ''}
            onClick={() => (before === null ? askForTime() : void clearAndClose())}
          >
            {t('删除日志')}
          </BusyButton>
        </>
      }
    >
      <p>{t('删除所有用户在此时间之前的日志，无法恢复')}</p>
      {field}
      <p className={styles['quiet']}>{t('余额、额度与每日统计不受影响')}</p>
    </TaskPopover>
  )
}
