import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Self } from '../../../contract/user-api.ts'
import { groupNames, isAdmin, isRoot } from '../../../contract/user.ts'
import { call } from '../../app/call.ts'
import { LinkButton } from '../../app/link-button.tsx'
import { useHasFeature, useQuotaText } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { paths } from '../../paths.ts'
import { selfQuery } from '../../app/self.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import { copyText } from '../../ui/copy/copy-text.ts'
import { PlainField } from '../../ui/field/plain-field.tsx'
import { Tag } from '../../ui/marks.tsx'
import { roleName } from '../../app/label/role-name.ts'
import { GroupTag } from '../../app/label/group-tags.tsx'
import { Balance, OwedNote } from '../../app/label/owed.tsx'
import { Panel } from '../../ui/page.tsx'
import { DeletionDialog } from './deletion-dialog.tsx'
import styles from './personal.module.css'

/** New token and link, shown until the page is left: the token cannot be shown again. */
interface Made {
  token?: string
  link?: string
}

function useMade() {
  const { t } = useTranslation()
  const [made, setMade] = useState<Made>({})
  /** Shows a text and copies it, or asks the user to copy it manually. */
  async function show(kind: keyof Made, text: string, copied: string) {
    setMade((now) => ({ ...now, [kind]: text }))
    if (await copyText(text)) toast.success(copied)
    else toast.warning(t('无法复制到剪贴板，请手动复制'))
  }
  return { made, show }
}

/** Registration page with the invite code. */
const inviteLink = (code: string): string => {
  const url = new URL(`.${paths.register}`, document.baseURI)
  url.searchParams.set('aff', code)
  return url.href
}

export function AccountPanel({ self }: { self: Self }) {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  const { made, show } = useMade()
  const [isDeleting, setIsDeleting] = useState(false)
  const client = useQueryClient()
  async function makeAccessToken() {
    const token = await call('GET /api/user/token')
    await show('token', token, t('系统访问令牌已生成并复制到剪贴板'))
    await client.invalidateQueries({ queryKey: selfQuery.queryKey })
  }
  async function copyInviteLink() {
    const link = inviteLink(await call('GET /api/user/aff'))
    await show('link', link, t('邀请链接已复制到剪贴板'))
  }
  return (
    <Panel title={t('账户')}>
      <AccountFacts self={self} />
      <div className={styles['actions']}>
        <LinkButton to={paths.profile} size="xs" variant="default">
          {t('更新个人信息')}
        </LinkButton>
        <MakeAccessToken
          exists={self.access_token_set ?? made.token !== undefined}
          make={makeAccessToken}
        />
        <Action label={t('复制邀请链接')} onClick={copyInviteLink} />
        <button
          type="button"
          className={styles['harm']}
          disabled={isRoot(self.role)}
          title={isRoot(self.role) ? t('超级管理员不能删除自己的账户') : undefined}
          aria-haspopup="dialog"
          onClick={() => setIsDeleting(true)}
        >
          {t('删除个人账户')}
        </button>
      </div>
      <MadeText label={t('系统访问令牌')} text={made.token} />
      <MadeText label={t('邀请链接')} text={made.link} />
      <p className={styles['hint']}>
        {hasFeature('access-tokens')
          ? t(
              '「生成系统访问令牌」与 One API 相同：只有一个，有全部权限，不过期，重新生成后旧的随即失效。新程序请在「系统访问令牌」面板中单独新建',
            )
          : t('系统访问令牌用于调用管理接口；重新生成后，旧的随即失效')}
      </p>
      {isDeleting && (
        <DeletionDialog username={self.username} onClose={() => setIsDeleting(false)} />
      )}
    </Panel>
  )
}

interface MakeAccessTokenProps {
  /** A token exists, which a new one replaces. */
  exists: boolean
  make: () => Promise<void>
}

function MakeAccessToken({ exists, make }: MakeAccessTokenProps) {
  const { t } = useTranslation()
  if (!exists) return <Action label={t('生成系统访问令牌')} onClick={make} />
  return (
    <ConfirmAction
      label={t('生成系统访问令牌')}
      question={t('重新生成系统访问令牌？现有令牌会立即失效，使用它的程序将无法调用')}
      confirmLabel={t('重新生成')}
      onClick={make}
    />
  )
}

function MadeText({ label, text }: { label: string; text: string | undefined }) {
  if (text === undefined) return null
  return (
    <div className={styles['made']}>
      <PlainField
        label={label}
        readOnly
        value={text}
        onFocus={(event) => event.currentTarget.select()}
      />
    </div>
  )
}

function AccountFacts({ self }: { self: Self }) {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  const facts = [
    { label: t('ID'), value: self.id },
    { label: t('剩余额度'), value: <Balance quota={self.quota} /> },
    { label: t('历史消耗'), value: quotaText(self.used_quota) },
    { label: t('请求次数'), value: self.request_count.toLocaleString('en-US') },
  ]
  return (
    <>
      <p className={styles['person']}>
        <strong>{self.username}</strong>
        <RoleTag role={self.role} />
      </p>
      <OwedNote quota={self.quota} />
      <dl className={styles['facts']}>
        {facts.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>{t('分组')}</dt>
          <dd className={styles['groups']}>
            {groupNames(self.group).map((name) => (
              <GroupTag key={name} name={name} />
            ))}
          </dd>
        </div>
      </dl>
    </>
  )
}

function RoleTag({ role }: { role: number }) {
  const { t } = useTranslation()
  const hue = isRoot(role) ? 'orange' : isAdmin(role) ? 'yellow' : 'grey'
  return <Tag hue={hue}>{t(roleName(role))}</Tag>
}
