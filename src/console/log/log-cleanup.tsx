import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Loader.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, Popover } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLogCleanup } from '../app/cleanup/use-log-cleanup.tsx'
import type { LogList } from './log-list.ts'
import styles from './log.module.css'

/** Deletes everybody's rows before a moment. For administrators. */
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
      // It has been told; the question stays, to be asked again.
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
        {field}
        <p className={styles['quiet']}>{t('余额、额度与每日统计不受影响')}</p>
        <div className={styles['answers']}>
          <span className={styles['progress']} aria-live="polite">
            {progress}
          </span>
          <Button size="xs" variant="default" onClick={() => setIsOpen(false)}>
            {t('取消')}
          </Button>
          <Button
            size="xs"
            color="red"
            loading={isBusy}
            disabled={progress !== ''}
            onClick={() => (before === null ? askForTime() : void clearAndClose())}
          >
            {t('删除日志')}
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
