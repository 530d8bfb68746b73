import { useTranslation } from 'react-i18next'
import type { AccessToken } from '../../../contract/access-token-api.ts'
import type { AccessScope } from '../../../contract/access-token.ts'
import { ConfirmAction } from '../../ui/actions.tsx'
import { Tag } from '../../ui/marks.tsx'
import { mark } from '../i18n.ts'
import { nowSeconds, stampText } from '../time.ts'
import styles from './access-token.module.css'

/** Chinese; translated where displayed. */
export const SCOPE_TEXTS: Record<AccessScope, string> = {
  all: mark('角色允许的全部操作'),
  read: mark('只读（不含密钥和兑换码）'),
  logs: mark('日志和统计'),
  channels: mark('渠道'),
  tokens: mark('自己的令牌（含密钥）'),
}

interface AccessTokenListProps {
  tokens: readonly AccessToken[]
  onRevoke: (token: AccessToken) => Promise<void>
}

/** System access tokens with scopes, expiry and last use; each can be revoked. */
export function AccessTokenList({ tokens, onRevoke }: AccessTokenListProps) {
  const { t } = useTranslation()
  return (
    <ul className={styles['tokens']}>
      {tokens.map((token) => {
        const name = token.is_wire ? t('与 One API 兼容的令牌') : token.name
        return (
          <li key={token.id}>
            <span>
              <strong>{name}</strong>{' '}
              {token.scopes.map((scope) => (
                <Tag key={scope} hue={scope === 'all' ? 'orange' : 'grey'}>
                  {t(SCOPE_TEXTS[scope])}
                </Tag>
              ))}
            </span>
            <span className={styles['facts']}>
              <ExpiryText at={token.expires_at} /> · <UseText token={token} />
            </span>
            <ConfirmAction
              label={t('撤销')}
              question={t('撤销系统访问令牌「{{name}}」？使用它的程序将无法调用', { name })}
              confirmLabel={t('撤销')}
              onClick={() => onRevoke(token)}
            />
          </li>
        )
      })}
    </ul>
  )
}

function ExpiryText({ at }: { at: number }) {
  const { t } = useTranslation()
  if (at === 0) return t('永不过期')
  const time = stampText(at)
  return at <= nowSeconds() ? (
    <span className={styles['past']}>{t('已于 {{time}} 过期', { time })}</span>
  ) : (
    t('{{time}} 过期', { time })
  )
}

function UseText({ token }: { token: AccessToken }) {
  const { t } = useTranslation()
  if (token.used_at === 0) return t('没有使用记录')
  const time = stampText(token.used_at)
  return t('{{time}} 由 {{address}} 使用', { time, address: token.used_address })
}
