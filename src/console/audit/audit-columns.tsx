import type { TFunction } from 'i18next'
import type { AuditEntry } from '../../contract/audit-api.ts'
import { optionTitle } from '../app/label/option-title.ts'
import { stampText } from '../app/time.ts'
import type { Block, Column } from '../ui/table/table-list.ts'
import { actionName, summary } from './audit-texts.ts'
import styles from './audit.module.css'

export interface AuditTexts {
  t: TFunction
  /** Opens the details. */
  open: (entry: AuditEntry) => void
}

/** Display name of the target; its id if it has no name. */
export function targetText({ action, target_name, target_id }: AuditEntry): string {
  if (target_name === '') return target_id === 0 ? '—' : `#${target_id}`
  if (target_id !== 0) return `${target_name} #${target_id}`
  const option = action === 'option.update' ? optionTitle(target_name) : null
  // Includes the option's own name, for which the filter searches.
  return option === null ? target_name : `${option} ${target_name}`
}

/** Opens the details by keyboard, like a click on the row. */
function ActionButton({ entry, texts }: { entry: AuditEntry; texts: AuditTexts }) {
  return (
    <button type="button" className={styles['open']} onClick={() => texts.open(entry)}>
      {texts.t(actionName(entry.action))}
    </button>
  )
}

export function auditColumns(texts: AuditTexts): Column<AuditEntry>[] {
  const { t } = texts
  return [
    {
      id: 'created_at',
      head: t('时间'),
      cell: (entry) => <span className={styles['quiet']}>{stampText(entry.created_at)}</span>,
      width: 170,
    },
    {
      id: 'actor_name',
      head: t('操作者'),
      cell: (entry) => <span title={entry.actor_name}>{entry.actor_name || '—'}</span>,
      width: 130,
    },
    {
      id: 'action',
      head: t('动作'),
      cell: (entry) => <ActionButton entry={entry} texts={texts} />,
      // Fits the longest action in English.
      width: 212,
    },
    {
      id: 'target',
      head: t('对象'),
      cell: (entry) => <span title={targetText(entry)}>{targetText(entry)}</span>,
      width: 200,
    },
    {
      id: 'change',
      head: t('内容'),
      cell: (entry) => <span className={styles['quiet']}>{summary(entry, t)}</span>,
    },
    {
      id: 'address',
      head: t('来源地址'),
      cell: (entry) => <code className={styles['quiet']}>{entry.address}</code>,
      width: 150,
    },
  ]
}

export function auditBlock(texts: AuditTexts): (entry: AuditEntry) => Block {
  return (entry) => ({
    title: <ActionButton entry={entry} texts={texts} />,
    titleEnd: <span className={styles['target']}>{targetText(entry)}</span>,
    line: entry.actor_name || '—',
    lineEnd: stampText(entry.created_at),
    detail: <span className={styles['change']}>{summary(entry, texts.t)}</span>,
  })
}
