import { useTranslation } from 'react-i18next'
import { useLogCleanup } from '../../app/cleanup/use-log-cleanup.tsx'
import { stampText } from '../../app/time.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import styles from '../option/option.module.css'

/** Deletes log rows of all users before a given time. */
export function ClearHistory() {
  const { t } = useTranslation()
  const { field, before, progress, askForTime, clear } = useLogCleanup(true)
  const label = t('清理历史日志')
  return (
    <div className={styles['panel']}>
      <div className={styles['line']}>
        {field}
        {before === null ? (
          <Action size="sm" label={label} onClick={askForTime} />
        ) : (
          <ConfirmAction
            size="sm"
            label={label}
            question={t('删除 {{stamp}} 之前所有用户的日志？删除后无法恢复', {
              stamp: stampText(before),
            })}
            confirmLabel={t('删除日志')}
            onClick={clear}
            {...(progress === '' ? {} : { why: progress })}
          />
        )}
      </div>
      <output>{progress || t('删除此时间之前的日志明细；额度和统计图不受影响')}</output>
    </div>
  )
}
