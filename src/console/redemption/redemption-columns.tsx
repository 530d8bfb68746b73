import { Link } from '@tanstack/react-router'
import type { TFunction } from 'i18next'
import type { Redemption } from '../../contract/redemption-api.ts'
import { StateName } from '../app/label/state-name.tsx'
import { stampText } from '../app/time.ts'
import { paths } from '../paths.ts'
import type { Block, Column } from '../ui/data-table.tsx'
import { TwoLines } from '../ui/table/two-lines.tsx'
import { codeStates } from './redemption-state.ts'
import styles from './redemption.module.css'

/** How cells are formatted: language and quota display. */
export interface RedemptionTexts {
  t: TFunction
  quotaText: (quota: number) => string
}

const State = ({ redemption }: { redemption: Redemption }) => (
  <StateName states={codeStates} status={redemption.status} />
)

function Redeemed({ redemption, t }: { redemption: Redemption; t: TFunction }) {
  const { redeemed_time, used_user_id: userId, used_username: username } = redemption
  if (redeemed_time === 0) return t('尚未兑换')
  return (
    <>
      {stampText(redeemed_time)}
      {userId !== undefined && (
        <>
          {' · '}
          <Link to={paths.userEdit(userId)}>{username || `#${userId}`}</Link>
        </>
      )}
    </>
  )
}

function redeemedText(redemption: Redemption, t: TFunction): string {
  const { redeemed_time, used_user_id: userId, used_username: username } = redemption
  if (redeemed_time === 0) return t('尚未兑换')
  const who = userId === undefined ? '' : ` · ${username || `#${userId}`}`
  return stampText(redeemed_time) + who
}

/** Enough of a code to distinguish it from others. */
export const maskedCode = (key: string): string => `${key.slice(0, 4)}…${key.slice(-4)}`

/** Widths for a window of 1024 px, where the actions fit on one line and timestamps take two. */
export function redemptionColumns({ t, quotaText }: RedemptionTexts): Column<Redemption>[] {
  return [
    {
      id: 'id',
      head: 'ID',
      cell: ({ id }) => <span className={styles['quiet']}>{id}</span>,
      sortBy: ({ id }) => id,
      width: 48,
      growth: 0.2,
    },
    {
      id: 'name',
      head: t('名称'),
      cell: ({ name, key }) => (
        <span className={styles['named']}>
          <span className={styles['name']} title={name}>
            {name || t('未命名')}
          </span>
          <code className={styles['key']}>{maskedCode(key)}</code>
        </span>
      ),
      sortBy: ({ name }) => name,
      width: 190,
      growth: 0.8,
    },
    {
      id: 'status',
      head: t('状态'),
      cell: (redemption) => <State redemption={redemption} />,
      sortBy: ({ status }) => status,
      width: 104,
      growth: 0.3,
    },
    {
      id: 'quota',
      head: t('额度'),
      cell: ({ quota }) => quotaText(quota),
      sortBy: ({ quota }) => quota,
      align: 'end',
      width: 88,
      growth: 0.5,
    },
    {
      id: 'created_time',
      head: t('创建时间'),
      cell: (row) => (
        <span className={styles['quiet']}>
          <TwoLines text={stampText(row.created_time)} />
        </span>
      ),
      sortBy: (row) => row.created_time,
      width: 96,
    },
    {
      id: 'redeemed_time',
      head: t('兑换时间'),
      cell: (row) => (
        <span className={styles['quiet']}>
          <TwoLines text={redeemedText(row, t)}>
            <Redeemed redemption={row} t={t} />
          </TwoLines>
        </span>
      ),
      sortBy: (row) => row.redeemed_time,
      width: 150,
      growth: 0.9,
    },
  ]
}

export function redemptionBlock(texts: RedemptionTexts): (redemption: Redemption) => Block {
  const { t, quotaText } = texts
  return (redemption) => ({
    id: redemption.id,
    title: redemption.name || t('未命名'),
    titleEnd: <State redemption={redemption} />,
    line: `${quotaText(redemption.quota)} · ${maskedCode(redemption.key)}`,
    lineEnd: <Redeemed redemption={redemption} t={t} />,
    detail: t('创建于 {{stamp}}', { stamp: stampText(redemption.created_time) }),
  })
}
