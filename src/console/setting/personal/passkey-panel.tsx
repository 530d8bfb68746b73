import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { deviceName } from '../../../contract/device-name.ts'
import type { Passkey } from '../../../contract/passkey-api.ts'
import { CallFailure } from '../../app/call-client.ts'
import { call } from '../../app/call.ts'
import { useSubmit } from '../../app/form/use-submit.ts'
import { addPasskey, hasPasskeys } from '../../app/passkey.ts'
import { useHasFeature } from '../../app/status.ts'
import { stampText } from '../../app/time.ts'
import { toast } from '../../app/toast.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import { PlainField, PlainSubmit } from '../../ui/field/plain-field.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import { Item, ItemList } from '../../ui/item-list.tsx'
import { Panel } from '../../ui/page.tsx'
import { LoadError } from '../../ui/states.tsx'
import styles from './personal.module.css'

const LIST = ['passkeys', 'self']

/** Time of creation, if it was stored, and of the last use of a passkey. */
function factsOf({ created_at, used_at }: Passkey, t: TFunction): string {
  const used = used_at === 0 ? t('未使用过') : t('最近使用 {{time}}', { time: stampText(used_at) })
  return created_at > 0
    ? `${t('添加于 {{time}}', { time: stampText(created_at) })} · ${used}`
    : used
}

/** Passkeys of the own account: add, rename, delete. */
export function PasskeyPanel({ onAdded }: { onAdded?: () => void }) {
  const hasFeature = useHasFeature()
  return hasFeature('passkeys') ? <Passkeys onAdded={onAdded} /> : null
}

function Passkeys({ onAdded }: { onAdded: (() => void) | undefined }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: LIST,
    queryFn: ({ signal }) => call('GET /api/user/passkey', {}, { signal }),
  })
  const [renamed, setRenamed] = useState<Passkey | null>(null)
  const obstacle = hasPasskeys()
    ? undefined
    : t('通行密钥需要 HTTPS 和域名（本机可以用 localhost），以及支持它的浏览器')
  const refresh = () => client.invalidateQueries({ queryKey: LIST })
  async function add() {
    try {
      await addPasskey(deviceName(navigator.userAgent))
    } catch (failure) {
      if (failure instanceof CallFailure && !failure.endsSession) toast.error(failure.message)
      throw failure
    }
    toast.success(t('通行密钥已添加'))
    await refresh()
    onAdded?.()
  }
  async function remove(passkey: string) {
    await call('DELETE /api/user/passkey/:passkey', { params: { passkey } }).finally(refresh)
    toast.success(t('通行密钥已删除'))
  }
  return (
    <Panel title={t('通行密钥')}>
      {error !== null && data === undefined && (
        <LoadError what={t('通行密钥')} error={error} onRetry={() => void refetch()} />
      )}
      <p className={styles['hint']}>
        {t('用指纹、面容、设备密码或安全密钥登录，不需要密码和验证码')}
      </p>
      <ItemList>
        {data?.passkeys.map((passkey) => (
          <Item key={passkey.id} title={passkey.name} facts={factsOf(passkey, t)}>
            <Action label={t('重命名')} onClick={() => setRenamed(passkey)} />
            <ConfirmAction
              label={t('删除')}
              question={t('删除通行密钥「{{name}}」？之后不能再用它登录', { name: passkey.name })}
              confirmLabel={t('删除')}
              onClick={() => remove(passkey.id)}
            />
          </Item>
        ))}
      </ItemList>
      <div className={styles['actions']}>
        <Action
          label={t('添加通行密钥')}
          onClick={add}
          {...(obstacle === undefined ? {} : { why: obstacle })}
        />
      </div>
      {obstacle !== undefined && <p className={styles['hint']}>{obstacle}</p>}
      {renamed !== null && (
        <RenameDialog
          passkey={renamed}
          onClose={() => setRenamed(null)}
          onRenamed={async () => {
            setRenamed(null)
            await refresh()
          }}
        />
      )}
    </Panel>
  )
}

interface RenameDialogProps {
  passkey: Passkey
  onClose: () => void
  onRenamed: () => Promise<void>
}

function RenameDialog({ passkey, onClose, onRenamed }: RenameDialogProps) {
  const { t } = useTranslation()
  const [name, setName] = useState(passkey.name)
  const { problem, setProblem, isBusy, submit } = useSubmit(async (fail) => {
    if (name.trim() === '') return fail(t('请输入名称'))
    const params = { passkey: passkey.id }
    await call('PUT /api/user/passkey/:passkey', { params, body: { name } }, { quiet: true })
    await onRenamed()
  })
  return (
    <PlainDialog title={t('重命名通行密钥')} onClose={onClose}>
      <form className={styles['dialogForm']} onSubmit={submit} noValidate>
        <PlainField
          label={t('名称')}
          name="passkey_name"
          autoComplete="off"
          value={name}
          error={problem === '' ? undefined : problem}
          onChange={(event) => {
            setName(event.currentTarget.value)
            setProblem('')
          }}
        />
        <PlainSubmit label={t('保存')} isBusy={isBusy} />
      </form>
    </PlainDialog>
  )
}
