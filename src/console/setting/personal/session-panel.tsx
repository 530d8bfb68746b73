import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { deviceName } from '../../../contract/device-name.ts'
import { call } from '../../app/call.ts'
import { useHasFeature } from '../../app/status.ts'
import { stampText } from '../../app/time.ts'
import { toast } from '../../app/toast.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import { Item, ItemList } from '../../ui/item-list.tsx'
import { Tag } from '../../ui/marks.tsx'
import { Panel } from '../../ui/page.tsx'
import { LoadError } from '../../ui/states.tsx'
import styles from './personal.module.css'

const LIST = ['sessions', 'self']

/** Where the account is signed in; one session or all others can be ended. */
export function SessionPanel() {
  const hasFeature = useHasFeature()
  return hasFeature('sessions') ? <Sessions /> : null
}

function Sessions() {
  const { t } = useTranslation()
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: LIST,
    queryFn: ({ signal }) => call('GET /api/user/sessions', {}, { signal }),
  })
  const refresh = () => client.invalidateQueries({ queryKey: LIST })
  async function end(session: string) {
    // Refreshed in any case: the session may have ended already.
    await call('DELETE /api/user/sessions/:session', { params: { session } }).finally(refresh)
    toast.success(t('已退出该登录'))
  }
  async function endOthers() {
    await call('DELETE /api/user/sessions').finally(refresh)
    toast.success(t('其他登录已全部退出'))
  }
  return (
    <Panel title={t('登录设备')}>
      {error !== null && data === undefined && (
        <LoadError what={t('登录设备')} error={error} onRetry={() => void refetch()} />
      )}
      <ItemList>
        {data?.map((session) => (
          <Item
            key={session.id}
            title={
              <>
                <span title={session.user_agent}>
                  {deviceName(session.user_agent) || t('未知设备')}
                </span>
                {session.is_own && <Tag hue="green">{t('本次登录')}</Tag>}
              </>
            }
            facts={`${session.address} · ${t('最近使用 {{time}}', { time: stampText(session.used_at) })}`}
          >
            {!session.is_own && <Action label={t('退出')} onClick={() => end(session.id)} />}
          </Item>
        ))}
      </ItemList>
      {data !== undefined && data.length > 1 && (
        <div className={styles['actions']}>
          <ConfirmAction
            label={t('退出其他全部登录')}
            question={t('退出其他全部登录？那些设备需要重新登录')}
            confirmLabel={t('退出')}
            onClick={endOthers}
          />
        </div>
      )}
    </Panel>
  )
}
