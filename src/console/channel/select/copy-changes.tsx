import type { TFunction } from 'i18next'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { CopyReport, CopyTarget, LeftOut } from '../../../contract/channel-batch-api.ts'
import type { CopyField } from '../../../contract/channel-copy.ts'
import { AUDIT_SECRET } from '../../../contract/audit.ts'
import { mark } from '../../app/i18n.ts'
import { typeName } from '../../app/channel-type-name.ts'
import { copyFieldName } from './copy-field-name.ts'
import { fieldDiff } from './copy-diff.ts'
import styles from './copy-dialog.module.css'

/** Maximum number of list items shown before expanding. */
const ITEMS_MAX = 12

const reasons: Record<LeftOut, string> = {
  type: mark('此类型没有'),
  empty: mark('来源为空'),
  place: mark('地址或代理不同，保密的请求头不能带过去'),
}

function Items({ sign, items }: { sign: '+' | '−'; items: readonly string[] }) {
  const { t } = useTranslation()
  const [isWhole, setIsWhole] = useState(false)
  if (items.length === 0) return null
  const shown = isWhole ? items : items.slice(0, ITEMS_MAX)
  const count = items.length - shown.length
  const what =
    sign === '+'
      ? t('新增 {{count}} 项', { count: items.length })
      : t('移除 {{count}} 项', { count: items.length })
  return (
    <p className={styles['items']} data-sign={sign}>
      <span aria-hidden="true">{sign}</span>
      <span>
        {what} <code>{shown.join(', ')}</code>
        {count > 0 && (
          <button type="button" onClick={() => setIsWhole(true)}>
            {t('另外 {{count}} 项', { count })}
          </button>
        )}
      </span>
    </p>
  )
}

function Value({ text, t }: { text: string; t: TFunction }) {
  if (text === '') return <span className={styles['quiet']}>{t('空')}</span>
  if (text === AUDIT_SECRET) return <span>{t('已设置')}</span>
  return <code>{text}</code>
}

/** A field with its old and new value; for lists, the added and removed items. */
function Change({ field, before, after }: { field: CopyField; before: string; after: string }) {
  const { t } = useTranslation()
  const diff = fieldDiff(field, before, after)
  if (diff.kind === 'list') {
    return (
      <td colSpan={2}>
        <Items sign="−" items={diff.removed} />
        <Items sign="+" items={diff.added} />
      </td>
    )
  }
  if (diff.kind === 'order') {
    return <td colSpan={2}>{t('只有顺序不同，之后以 {{first}} 开头', { first: diff.first })}</td>
  }
  return (
    <>
      <td>
        <Value text={diff.before} t={t} />
      </td>
      <td>{diff.after === AUDIT_SECRET ? t('与来源相同') : <Value text={diff.after} t={t} />}</td>
    </>
  )
}

interface TargetProps {
  target: CopyTarget
  /** A type that has all the fields, for their labels. */
  sourceType: number
  values: ReadonlyMap<CopyField, string>
}

function TargetName({ target, rows }: { target: CopyTarget; rows: number }) {
  const { t } = useTranslation()
  return (
    <th scope="rowgroup" rowSpan={rows}>
      <span className={styles['name']}>{target.name || t('未命名')}</span>
      <span className={styles['quiet']}>
        ID {target.id} · {typeName(target.type, t)}
      </span>
    </th>
  )
}

function LeftOutNote({ target, sourceType }: Pick<TargetProps, 'target' | 'sourceType'>) {
  const { t } = useTranslation()
  if (target.left_out.length === 0) return null
  return (
    <p className={styles['leftOut']}>
      {target.left_out
        .map(({ field, why }) =>
          t('不复制「{{field}}」：{{reason}}', {
            field: copyFieldName(field, sourceType, t),
            reason: t(reasons[why]),
          }),
        )
        .join(t('；'))}
    </p>
  )
}

function Target({ target, sourceType, values }: TargetProps) {
  const { t } = useTranslation()
  const { changes, left_out } = target
  const hasNote = left_out.length > 0
  if (changes.length === 0) {
    return (
      <tbody data-same>
        <tr>
          <TargetName target={target} rows={1} />
          <td colSpan={3}>
            {t('没有变化')}
            <LeftOutNote target={target} sourceType={sourceType} />
          </td>
        </tr>
      </tbody>
    )
  }
  const rows = changes.length + (hasNote ? 1 : 0)
  return (
    <tbody>
      {changes.map(({ field, before }, index) => (
        <tr key={field}>
          {index === 0 && <TargetName target={target} rows={rows} />}
          <th scope="row">{copyFieldName(field, sourceType, t)}</th>
          <Change field={field} before={before} after={values.get(field) ?? ''} />
        </tr>
      ))}
      {hasNote && (
        <tr>
          <td colSpan={3}>
            <LeftOutNote target={target} sourceType={sourceType} />
          </td>
        </tr>
      )}
    </tbody>
  )
}

interface CopyChangesProps {
  report: CopyReport
  sourceType: number
}

/** Preview of a copy: changed channels first, unchanged ones below. */
export function CopyChanges({ report, sourceType }: CopyChangesProps) {
  const { t } = useTranslation()
  const values = new Map(report.values.map(({ field, value }) => [field, value]))
  const isSame = ({ changes }: CopyTarget) => changes.length === 0
  // In the order of the list: newest first.
  const ordered = report.targets.toSorted((a, b) => b.id - a.id)
  const targets = [...ordered.filter((target) => !isSame(target)), ...ordered.filter(isSame)]
  return (
    <table className={styles['changes']} aria-label={t('将要发生的变化')}>
      <thead>
        <tr>
          <th scope="col">{t('渠道')}</th>
          <th scope="col">{t('字段')}</th>
          <th scope="col">{t('现在')}</th>
          <th scope="col">{t('复制后')}</th>
        </tr>
      </thead>
      {targets.map((target) => (
        <Target key={target.id} target={target} sourceType={sourceType} values={values} />
      ))}
    </table>
  )
}
