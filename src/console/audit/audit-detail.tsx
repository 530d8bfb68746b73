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

function Changes({ changes }: { changes: readonly MemberChange[] }) {
  const { t } = useTranslation()
  return (
    <table className={styles['changes']}>
      <thead>
        <tr>
          <th scope="col">{t('字段')}</th>
          <th scope="col">{t('修改前')}</th>
          <th scope="col">{t('修改后')}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ member, before, after }) => (
          <tr key={member}>
            <th scope="row" title={member}>
              {memberName(member, t)}
            </th>
            <td>
              <Value text={before} />
            </td>
            <td>
              <Value text={after} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function AuditDetail({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { t } = useTranslation()
  const facts = [
    { label: t('时间'), value: stampText(entry.created_at) },
    { label: t('操作者'), value: `${entry.actor_name} #${entry.actor_id}` },
    { label: t('对象'), value: targetText(entry) },
    { label: t('来源地址'), value: <code>{entry.address}</code> },
    { label: t('请求 ID'), value: <RequestId id={entry.request_id} /> },
  ]
  return (
    <SidePanel title={t(actionName(entry.action))} onClose={onClose}>
      <FactList facts={facts} />
      <PanelPart title={t('内容')}>
        <Changes changes={memberChanges(entry, t)} />
      </PanelPart>
    </SidePanel>
  )
}
