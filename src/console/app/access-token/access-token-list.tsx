import { useTranslation } from 'react-i18next'
import type { AccessToken } from '../../../contract/access-token-api.ts'
import { ConfirmAction } from '../../ui/actions.tsx'
import { Item, ItemList } from '../../ui/item-list.tsx'
import { Tag } from '../../ui/marks.tsx'
import { nowSeconds, stampText } from '../time.ts'
import { SCOPE_TEXTS } from './access-scope.ts'
import styles from './access-token.module.css'

interface AccessTokenListProps {
  tokens: readonly AccessToken[]
  onRevoke: (token: AccessToken) => Promise<void>
}

/** System access tokens with scopes, expiry and last use; each can be revoked. */
export function AccessTokenList({ tokens, onRevoke }: AccessTokenListProps) {
  const { t } = useTranslation()
  return (
    <ItemList>
      {tokens.map((token) => {
        const name = token.is_wire ? t('与 One API 兼容的令牌') : token.name
        return (
          <Item
            key={token.id}
            title={
              <>
                {name}
                {token.scopes.map((scope) => (
                  <Tag key={scope} hue={scope === 'all' ? 'orange' : 'grey'}>
                    {t(SCOPE_TEXTS[scope])}
                  </Tag>
                ))}
              </>
            }
            facts={
              <>
                <ExpiryText at={token.expires_at} /> · <UseText token={token} />
              </>
            }
          >
            <ConfirmAction
              label={t('撤销')}
              question={t('撤销系统访问令牌「{{name}}」？使用它的程序将无法调用', { name })}
              confirmLabel={t('撤销')}
              onClick={() => onRevoke(token)}
            />
          </Item>
        )
      })}
    </ItemList>
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
