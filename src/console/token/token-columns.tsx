import type { TFunction } from 'i18next'
import type { Token } from '../../contract/token-api.ts'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import { mark } from '../app/i18n.ts'
import { GroupTag } from '../app/label/group-tags.tsx'
import { StateName, type StateNames } from '../app/label/state-name.tsx'
import { stampText } from '../app/time.ts'
import type { Block, Column } from '../ui/table/table-list.ts'
import { StateDot } from '../ui/marks.tsx'
import { TwoLines } from '../ui/table/two-lines.tsx'
import { maskedKey } from './token-copies.ts'
import type { ChoosableGroups } from './token-group.ts'
import { remaining } from './token-order.ts'
import { hasExpired, isPreviousKeyValid, presentStatus } from './token-state.ts'
import styles from './token.module.css'

/** How cells are formatted: language, quota display, and current time. */
export interface TokenTexts {
  t: TFunction
  quotaText: (quota: number) => string
  nowSeconds: number
  /** Null if unknown, or if the server has no token groups. */
  groups: ChoosableGroups | null
}

const states: StateNames = new Map([
  [TokenStatus.enabled, { tone: 'good', name: mark('已启用') }],
  [TokenStatus.disabled, { tone: 'off', name: mark('已禁用') }],
  [TokenStatus.expired, { tone: 'bad', name: mark('已过期') }],
  [TokenStatus.exhausted, { tone: 'warning', name: mark('已耗尽') }],
])

/** The token's group can no longer be used, so its calls are rejected. */
const hasLostGroup = ({ group = '' }: Token, { groups }: TokenTexts): boolean =>
  group !== '' && groups !== null && !Object.hasOwn(groups, group)

function State({ token, texts }: { token: Token; texts: TokenTexts }) {
  const { t } = texts
  const status = presentStatus(token, texts.nowSeconds)
  if (status === TokenStatus.enabled && hasLostGroup(token, texts)) {
    return <StateDot tone="warning">{t('分组不可用')}</StateDot>
  }
  return <StateName states={states} status={status} />
}

const expiryText = (token: Token, { t }: TokenTexts): string =>
  token.expired_time === NEVER_EXPIRES ? t('永不过期') : stampText(token.expired_time)

function Expiry({ token, texts }: { token: Token; texts: TokenTexts }) {
  const isPast = hasExpired(token, texts.nowSeconds)
  return <span className={isPast ? styles['past'] : ''}>{expiryText(token, texts)}</span>
}

/** Until when the key before the last rotation works. */
function PreviousKey({ token, texts }: { token: Token; texts: TokenTexts }) {
  if (!isPreviousKeyValid(token, texts.nowSeconds)) return null
  const stamp = stampText(token.previous_key_until)
  return <p className={styles['previousKey']}>{texts.t('旧密钥可用到 {{stamp}}', { stamp })}</p>
}

/** When and from where the token was last used. */
export const lastUseText = ({ accessed_time: seconds, last_ip: address }: Token, t: TFunction) =>
  t('最近使用 {{stamp}}，来自 {{address}}', { stamp: stampText(seconds), address })

function remainingText(token: Token, { t, quotaText }: TokenTexts): string {
  return token.unlimited_quota ? t('无限制') : quotaText(token.remain_quota)
}

/**
 * Widths for a window of 1024 px, where the actions fit on one line and timestamps take two; from
 * 1280 px on, a timestamp fits on one line, also in wide fonts.
 */
export function tokenColumns(texts: TokenTexts): Column<Token>[] {
  const { t, quotaText } = texts
  return [
    {
      id: 'name',
      head: t('名称'),
      cell: (token) => (
        <>
          <span className={styles['named']}>
            <span className={styles['name']} title={token.name}>
              {token.name || t('未命名')}
            </span>
            {token.group && <GroupTag name={token.group} />}
            <code className={styles['key']}>{maskedKey(token)}</code>
          </span>
          <PreviousKey token={token} texts={texts} />
        </>
      ),
      sortBy: (token) => token.name,
      width: 180,
      growth: 0.8,
    },
    {
      id: 'status',
      head: t('状态'),
      cell: (token) => <State token={token} texts={texts} />,
      sortBy: (token) => presentStatus(token, texts.nowSeconds),
      width: 104,
      growth: 0.1,
    },
    {
      id: 'used_quota',
      head: t('已用额度'),
      cell: (token) => quotaText(token.used_quota),
      sortBy: (token) => token.used_quota,
      align: 'end',
      width: 84,
      growth: 0.3,
    },
    {
      id: 'remain_quota',
      head: t('剩余额度'),
      cell: (token) => remainingText(token, texts),
      sortBy: remaining,
      align: 'end',
      // From 1280 px on, fits the quota of root on a new installation.
      width: 112,
      growth: 0.6,
    },
    {
      id: 'created_time',
      head: t('创建时间'),
      cell: (token) => (
        <span
          className={styles['quiet']}
          {...(token.last_ip ? { title: lastUseText(token, t) } : {})}
        >
          <TwoLines text={stampText(token.created_time)} />
        </span>
      ),
      sortBy: (token) => token.created_time,
      width: 96,
      growth: 1.15,
    },
    {
      id: 'expired_time',
      head: t('过期时间'),
      cell: (token) => (
        <TwoLines text={expiryText(token, texts)}>
          <Expiry token={token} texts={texts} />
        </TwoLines>
      ),
      sortBy: (token) =>
        token.expired_time === NEVER_EXPIRES ? Number.MAX_SAFE_INTEGER : token.expired_time,
      width: 96,
      growth: 1.15,
    },
  ]
}

export function tokenBlock(texts: TokenTexts): (token: Token) => Block {
  const { t, quotaText } = texts
  return (token) => ({
    title: (
      <>
        {token.name || t('未命名')} {token.group && <GroupTag name={token.group} />}
      </>
    ),
    titleEnd: <State token={token} texts={texts} />,
    line: token.unlimited_quota
      ? t('已用 {{used}}，无限制', { used: quotaText(token.used_quota) })
      : t('已用 {{used}}，剩 {{left}}', {
          used: quotaText(token.used_quota),
          left: quotaText(token.remain_quota),
        }),
    lineEnd: <Expiry token={token} texts={texts} />,
    detail: (
      <>
        <code>{maskedKey(token)}</code>
        {' · '}
        {t('创建于 {{stamp}}', { stamp: stampText(token.created_time) })}
        {token.last_ip && ` · ${lastUseText(token, t)}`}
        <PreviousKey token={token} texts={texts} />
      </>
    ),
  })
}
