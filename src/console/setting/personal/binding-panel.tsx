import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type {
  ExternalProvider,
  ListedProvider,
  RedirectingProvider,
} from '../../../contract/oauth.ts'
import type { Self } from '../../../contract/user-api.ts'
import { isRoot } from '../../../contract/user.ts'
import { call } from '../../app/call.ts'
import { externalAccountsQuery, useExternalAccounts } from '../../app/sign-in/external-accounts.ts'
import { mark } from '../../app/i18n.ts'
import { selfQuery } from '../../app/self.ts'
import { goToProvider } from '../../app/sign-in/external-trip.ts'
import { WechatDialog } from '../../app/sign-in/wechat-dialog.tsx'
import type { KnownStatus } from '../../app/known-status.ts'
import { useStatus } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import { Panel } from '../../ui/page.tsx'
import { EmailDialog } from './email-dialog.tsx'
import styles from './personal.module.css'

type Dialog = 'wechat' | 'email' | null

function useRefreshSelf(): () => Promise<void> {
  const client = useQueryClient()
  return async () => {
    await Promise.all([
      client.invalidateQueries({ queryKey: selfQuery.queryKey }),
      client.invalidateQueries({ queryKey: externalAccountsQuery.queryKey }),
    ])
  }
}

/** Linked external accounts and email address. */
export function BindingPanel({ self }: { self: Self }) {
  const { t } = useTranslation()
  const status = useStatus()
  const refresh = useRefreshSelf()
  const listed = useListed(status)
  const [dialog, setDialog] = useState<Dialog>(null)
  const why =
    isRoot(self.role) && !rootMayBind(status) ? t('超级管理员不能绑定第三方账户') : undefined
  const close = () => setDialog(null)
  async function bindWechat(code: string) {
    await call('GET /api/oauth/wechat/bind', { query: { code } })
    toast.success(t('微信账户绑定成功！'))
    close()
    await refresh()
  }
  return (
    <Panel title={t('账户绑定')}>
      <ul className={styles['bindings']}>
        {status.wechat_login === true || self.wechat_id !== '' ? (
          <BindingRow name={t('微信')} provider="wechat" bound={self.wechat_id}>
            <Action
              label={t('绑定微信账户')}
              onClick={() => setDialog('wechat')}
              {...(why && { why })}
            />
          </BindingRow>
        ) : null}
        {redirecting(self, status).map(({ provider, name, action, bound }) => (
          <BindingRow key={provider} name={t(name)} provider={provider} bound={bound}>
            <Action
              label={t(action)}
              onClick={() => goToProvider(provider, 'bind', status)}
              {...(why && { why })}
            />
          </BindingRow>
        ))}
        {listed.map(({ provider, title, bound }) => (
          <BindingRow key={provider} name={title} provider={provider} bound={bound}>
            <Action
              label={t('绑定 {{name}} 账户', { name: title })}
              onClick={() => goToProvider(provider, 'bind', status)}
              {...(why && { why })}
            />
          </BindingRow>
        ))}
        <li>
          <span className={styles['bindingName']}>{t('邮箱')}</span>
          <BoundTo bound={self.email} />
          <Action
            label={self.email === '' ? t('绑定邮箱地址') : t('更换邮箱地址')}
            onClick={() => setDialog('email')}
          />
        </li>
      </ul>
      {why !== undefined && <p className={styles['hint']}>{why}</p>}
      {dialog === 'wechat' && (
        <WechatDialog
          title={t('绑定微信账户')}
          submitLabel={t('绑定')}
          onCode={bindWechat}
          onClose={close}
        />
      )}
      {dialog === 'email' && <EmailDialog onClose={close} onBound={refresh} />}
    </Panel>
  )
}

/**
 * Gatehouse does not let root link accounts whose settings administrators can change; other servers
 * do.
 */
const rootMayBind = ({ gatehouse }: KnownStatus): boolean =>
  gatehouse === undefined || isRoot(gatehouse.options_min_role)

interface RedirectingRow {
  provider: RedirectingProvider
  /** Chinese; translated where displayed. */
  name: string
  /** Label of the button that links the account. */
  action: string
  bound: string
}

/** Providers that are enabled or already linked. */
function redirecting(self: Self, status: KnownStatus): RedirectingRow[] {
  const rows: (RedirectingRow & { isOpen: boolean })[] = [
    {
      provider: 'github',
      name: 'GitHub',
      action: mark('绑定 GitHub 账户'),
      bound: self.github_id,
      isOpen: status.github_oauth === true,
    },
    {
      provider: 'lark',
      name: mark('飞书'),
      action: mark('绑定飞书账户'),
      bound: self.lark_id,
      isOpen: Boolean(status.lark_client_id),
    },
    {
      provider: 'oidc',
      name: 'OIDC',
      action: mark('绑定 OIDC 账户'),
      bound: self.oidc_id,
      isOpen: status.oidc === true,
    },
  ]
  return rows.filter(({ isOpen, bound }) => isOpen || bound !== '')
}

interface BindingRowProps {
  name: string
  provider: ExternalProvider
  /** Name or id at the provider; `''` if not linked. */
  bound: string
  /** The button that links the account. */
  children: ReactNode
}

function BindingRow({ name, provider, bound, children }: BindingRowProps) {
  const { t } = useTranslation()
  const { gatehouse } = useStatus()
  const refresh = useRefreshSelf()
  async function unbind() {
    await sendUnbind(provider)
    toast.success(t('已解除绑定'))
    await refresh()
  }
  return (
    <li>
      <span className={styles['bindingName']}>{name}</span>
      <BoundTo bound={bound} />
      {bound === '' || gatehouse === undefined ? (
        children
      ) : (
        <ConfirmAction
          label={t('解除绑定')}
          question={t('解除绑定后将不能再用它登录，确定解除吗？')}
          confirmLabel={t('解除')}
          onClick={unbind}
        />
      )}
    </li>
  )
}

function sendUnbind(provider: ExternalProvider) {
  if (!provider.startsWith('oidc/')) {
    // All names without the prefix `oidc/` are values of the path parameter.
    const unnamed = provider as Exclude<ExternalProvider, `oidc/${string}`>
    return call('DELETE /api/oauth/:provider', { params: { provider: unnamed } })
  }
  const name = provider.slice('oidc/'.length)
  return call('DELETE /api/oauth/oidc/:name', { params: { name } })
}

interface ListedRow {
  provider: ListedProvider
  title: string
  bound: string
}

/** Providers of `SignInProviders` that are enabled or already linked. */
function useListed({ gatehouse }: KnownStatus): ListedRow[] {
  const accounts = useExternalAccounts()
  const open = gatehouse?.sign_in_providers ?? []
  const label = (provider: ListedProvider) =>
    accounts.find((account) => account.provider === provider)?.label ?? ''
  const closed = accounts.filter(({ provider }) => !open.some((one) => one.provider === provider))
  return [
    ...open.map(({ provider, title }) => ({ provider, title, bound: label(provider) })),
    ...closed.map(({ provider, label: bound }) => ({
      provider,
      title: provider.replace('oidc/', ''),
      bound,
    })),
  ]
}

function BoundTo({ bound }: { bound: string }) {
  const { t } = useTranslation()
  return bound === '' ? (
    <span className={styles['unbound']}>{t('未绑定')}</span>
  ) : (
    <span className={styles['boundTo']}>{bound}</span>
  )
}
