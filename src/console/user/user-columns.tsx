import type { TFunction } from 'i18next'
import type { User } from '../../contract/user-api.ts'
import { groupNames, isAdmin, isRoot, UserStatus } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'
import { GroupTags } from '../app/label/group-tags.tsx'
import { Balance } from '../app/label/owed.tsx'
import { roleName } from '../app/label/role-name.ts'
import { StateName, type StateNames } from '../app/label/state-name.tsx'
import type { Block, Column } from '../ui/data-table.tsx'
import { Tag } from '../ui/marks.tsx'
import { TwoLines } from '../ui/table/two-lines.tsx'
import { shortName } from './user-order.ts'
import styles from './user.module.css'

/** How cells are formatted: language and quota display. */
export interface UserTexts {
  t: TFunction
  quotaText: (quota: number) => string
  /** The language has long words: their columns take space from others. */
  hasLongWords: boolean
}

const states: StateNames = new Map([
  [UserStatus.enabled, { tone: 'good', name: mark('已激活') }],
  [UserStatus.disabled, { tone: 'bad', name: mark('已封禁') }],
])

const State = ({ user }: { user: User }) => <StateName states={states} status={user.status} />

/** Highlights administrators. */
function RoleMark({ user, t }: { user: User; t: TFunction }) {
  const name = t(roleName(user.role))
  if (!isAdmin(user.role)) return name
  return <Tag hue={isRoot(user.role) ? 'orange' : 'yellow'}>{name}</Tag>
}

const Groups = ({ user }: { user: User }) => <GroupTags groups={groupNames(user.group)} wraps />

/** An email address that breaks before its domain. */
function Address({ email }: { email: string }) {
  const end = email.indexOf('@') + 1
  return (
    <>
      {email.slice(0, end)}
      <wbr />
      {email.slice(end)}
    </>
  )
}

/** Placeholder for an empty cell. */
const EmptyCell = () => <span className={styles['quiet']}>—</span>

/**
 * Widths for a window of 1440 px: each head fits on one line with its sort mark, a username shows
 * twelve letters, and in Chinese an address of twenty letters and two groups fit on one line.
 */
export function userColumns(texts: UserTexts): Column<User>[] {
  const { t, quotaText, hasLongWords } = texts
  return [
    {
      id: 'id',
      head: 'ID',
      cell: (user) => <span className={styles['quiet']}>{user.id}</span>,
      sortBy: (user) => user.id,
      width: 48,
      growth: 1,
    },
    {
      id: 'username',
      head: t('用户名'),
      cell: (user) => (
        <span className={styles['name']} title={user.username}>
          {shortName(user.username)}
        </span>
      ),
      sortBy: (user) => user.username,
      width: hasLongWords ? 80 : 94,
      growth: hasLongWords ? 3.2 : 2.8,
    },
    {
      id: 'display_name',
      head: t('显示名称'),
      cell: (user) => (
        <TwoLines text={user.display_name}>{user.display_name || <EmptyCell />}</TwoLines>
      ),
      sortBy: (user) => user.display_name,
      width: hasLongWords ? 62 : 76,
      growth: hasLongWords ? 8.4 : 3.2,
    },
    {
      id: 'email',
      head: t('邮箱'),
      cell: (user) => (
        <TwoLines text={user.email}>
          {user.email === '' ? <EmptyCell /> : <Address email={user.email} />}
        </TwoLines>
      ),
      sortBy: (user) => user.email,
      width: hasLongWords ? 80 : 94,
      growth: hasLongWords ? 8 : 9.6,
    },
    {
      id: 'group',
      head: t('分组'),
      cell: (user) => <Groups user={user} />,
      sortBy: (user) => user.group,
      width: hasLongWords ? 68 : 76,
      growth: hasLongWords ? 1.8 : 4.1,
    },
    {
      id: 'quota',
      head: t('剩余额度'),
      cell: (user) => <Balance quota={user.quota} />,
      sortBy: (user) => user.quota,
      align: 'end',
      // The quota of root on a new installation has thirteen digits.
      width: 135,
      growth: 0,
    },
    {
      id: 'used_quota',
      head: t('已用额度'),
      cell: (user) => quotaText(user.used_quota),
      sortBy: (user) => user.used_quota,
      align: 'end',
      width: 74,
      growth: hasLongWords ? 0.6 : 2.7,
    },
    {
      id: 'request_count',
      head: t('请求次数'),
      cell: (user) => user.request_count.toLocaleString('en-US'),
      sortBy: (user) => user.request_count,
      align: 'end',
      width: 66,
      growth: hasLongWords ? 0.8 : 3.5,
    },
    {
      id: 'role',
      head: t('角色'),
      cell: (user) => <RoleMark user={user} t={t} />,
      sortBy: (user) => user.role,
      width: hasLongWords ? 94 : 84,
      growth: 0.2,
    },
    {
      id: 'status',
      head: t('状态'),
      cell: (user) => <State user={user} />,
      sortBy: (user) => user.status,
      width: 76,
      growth: hasLongWords ? 1.2 : 0.2,
    },
  ]
}

export function userBlock({ t, quotaText }: UserTexts): (user: User) => Block {
  return (user) => ({
    id: user.id,
    title: (
      <>
        <span title={user.username}>{shortName(user.username)}</span>{' '}
        {isAdmin(user.role) && <RoleMark user={user} t={t} />}
      </>
    ),
    titleEnd: <State user={user} />,
    line: t('已用 {{used}}，剩 {{left}}', {
      used: quotaText(user.used_quota),
      left: quotaText(user.quota),
    }),
    lineEnd: <Groups user={user} />,
    detail: [
      user.display_name,
      user.email,
      t('请求 {{calls}} 次', { calls: user.request_count.toLocaleString('en-US') }),
    ]
      .filter((text) => text !== '')
      .join(' · '),
  })
}
