import { useTranslation } from 'react-i18next'
import type { AuditEntry } from '../../contract/audit-api.ts'
import { stampText } from '../app/time.ts'
import { RequestId } from '../ui/copy/request-id.tsx'
import { FactList, PanelPart, SidePanel } from '../ui/float/side-panel.tsx'
import { targetText } from './audit-columns.tsx'
import { actionName, type MemberChange, memberChanges, memberName } from './audit-texts.ts'
import styles from './audit.module.css'

function Value({ text }: { text: string | undefined }) {
  if (text === undefined) return <span className={styles['quiet']}>—</span>
  return <code className={styles['value']}>{text}</code>
}

interface ChangesProps {
  changes: readonly MemberChange[]
  /** The target existed before and exists after, so there are two values of a member. */
  isChange: boolean
}

function Changes({ changes, isChange }: ChangesProps) {
  const { t } = useTranslation()
  return (
    <table className={styles['changes']}>
      <thead>
        <tr>
          <th scope="col">{t('字段')}</th>
          {isChange && <th scope="col">{t('修改前')}</th>}
          <th scope="col">{isChange ? t('修改后') : t('值')}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ member, before, after }) => (
          <tr key={member}>
            <th scope="row" title={member}>
              {memberName(member, t)}
            </th>
            {isChange && (
              <td>
                <Value text={before} />
              </td>
            )}
            <td>
              <Value text={isChange ? after : (after ?? before)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The actor of a failed sign-in is not known. */
const actorText = ({ actor_name, actor_id }: AuditEntry): string =>
  actor_id === 0 ? '—' : `${actor_name} #${actor_id}`

export function AuditDetail({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { t } = useTranslation()
  const facts = [
    { label: t('时间'), value: stampText(entry.created_at) },
    { label: t('操作者'), value: actorText(entry) },
    { label: t('对象'), value: targetText(entry) },
    { label: t('来源地址'), value: <code>{entry.address}</code> },
    { label: t('请求 ID'), value: <RequestId id={entry.request_id} /> },
  ]
  return (
    <SidePanel title={t(actionName(entry.action))} onClose={onClose}>
      <FactList facts={facts} />
      <PanelPart title={t('内容')}>
        <Changes
          changes={memberChanges(entry, t)}
          isChange={entry.before !== null && entry.after !== null}
        />
      </PanelPart>
    </SidePanel>
  )
}
