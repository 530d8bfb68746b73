import type { TFunction } from 'i18next'
import { useState } from 'react'
import type { Channel } from '../../contract/channel-api.ts'
import { balanceText, channelType } from '../../contract/channel-types.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { commaList } from '../../contract/text.ts'
import { groupNames } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'
import { GroupTags } from '../app/label/group-tags.tsx'
import { StateName, type StateNames } from '../app/label/state-name.tsx'
import { secondsText, stampText } from '../app/time.ts'
import type { Block, Column } from '../ui/data-table.tsx'
import { CellChoice, CellNumber } from '../ui/field/cell-field.tsx'
import { ColorName, StateDot } from '../ui/marks.tsx'
import { responseLevel, responseOrder } from './channel-response.ts'
import { typeName } from '../app/channel-type-name.ts'
import styles from './channel.module.css'

/** How cells are formatted, and how they are edited. */
export interface ChannelTexts {
  t: TFunction
  quotaText: (quota: number) => string
  setPriority: (channel: Channel, priority: number) => Promise<void>
  refusePriority: () => void
  refreshBalance: (channel: Channel) => Promise<void>
  setTestModel: (channel: Channel, model: string) => Promise<void>
}

const states: StateNames = new Map([
  [ChannelStatus.enabled, { tone: 'good', name: mark('已启用') }],
  [ChannelStatus.disabled, { tone: 'off', name: mark('手动禁用') }],
  [ChannelStatus.autoDisabled, { tone: 'bad', name: mark('自动禁用') }],
])

function State({ channel, t }: { channel: Channel; t: TFunction }) {
  // One API's rows contain neither.
  const { key_count: count = 1, keys_paused: paused = 0 } = channel
  if (channel.status === ChannelStatus.enabled && paused > 0) {
    const left = count - paused
    return (
      <span title={t('已启用，{{count}} 个密钥被上游拒绝，已自动暂停', { count: paused })}>
        <StateDot tone={left > 0 ? 'warning' : 'bad'}>
          {t('密钥 {{left}}/{{total}}', { left, total: count })}
        </StateDot>
      </span>
    )
  }
  return <StateName states={states} status={channel.status} />
}

function TypeName({ type, t }: { type: number; t: TFunction }) {
  return <ColorName color={channelType(type).color}>{typeName(type, t)}</ColorName>
}

const Groups = ({ channel }: { channel: Channel }) => (
  <GroupTags groups={groupNames(channel.group ?? '')} />
)

function ResponseTime({ channel, t }: { channel: Channel; t: TFunction }) {
  const { response_time: ms, test_time: testedAt } = channel
  const level = responseLevel(channel)
  const stamp = testedAt > 0 ? stampText(testedAt) : ''
  if (ms === 0) {
    const title = stamp === '' ? undefined : t('{{stamp}} 的测试没有成功', { stamp })
    return (
      <span className={styles['response']} data-level={level} title={title}>
        {level === 'failed' ? t('测试失败') : t('未测试')}
      </span>
    )
  }
  return (
    <span
      className={styles['response']}
      data-level={level}
      title={stamp === '' ? undefined : t('测试于 {{stamp}}', { stamp })}
    >
      {t('{{seconds}} 秒', { seconds: secondsText(ms) })}
    </span>
  )
}

/** A button that refreshes the balance from the upstream. */
function Balance({ channel, texts }: { channel: Channel; texts: ChannelTexts }) {
  const { t } = texts
  const [isBusy, setIsBusy] = useState(false)
  const text = balanceText(channel.type, channel.balance, texts.quotaText)
  if (text === null) {
    return (
      <span className={styles['quiet']} title={t('此类型的上游不提供余额')}>
        {t('不支持')}
      </span>
    )
  }
  const fetchedAt = channel.balance_updated_time
  const isKnown = fetchedAt > 0
  async function refresh() {
    setIsBusy(true)
    try {
      await texts.refreshBalance(channel)
    } catch {
      // The toast with the server's message is already shown; the previous balance stays.
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <button
      type="button"
      className={styles['balance']}
      data-known={isKnown}
      aria-busy={isBusy}
      aria-disabled={isBusy}
      aria-label={t('「{{name}}」的余额 {{text}}，点击更新', { name: channel.name, text })}
      title={
        isKnown
          ? t('更新于 {{stamp}}，点击更新', { stamp: stampText(fetchedAt) })
          : t('还没有查询过，点击更新')
      }
      onClick={() => !isBusy && void refresh()}
    >
      {text}
    </button>
  )
}

function Priority({ channel, texts }: { channel: Channel; texts: ChannelTexts }) {
  return (
    <CellNumber
      label={texts.t('「{{name}}」的优先级', { name: channel.name })}
      value={channel.priority ?? 0}
      onCommit={(priority) => texts.setPriority(channel, priority)}
      onWrong={texts.refusePriority}
    />
  )
}

/** The model that a test of this channel calls. */
export const testModelOf = (channel: Channel): string =>
  channel.test_model || (commaList(channel.models)[0] ?? '')

function TestModel({ channel, texts }: { channel: Channel; texts: ChannelTexts }) {
  const chosen = testModelOf(channel)
  if (chosen === '') return <span className={styles['quiet']}>—</span>
  const models = commaList(channel.models)
  return (
    <CellChoice
      label={texts.t('「{{name}}」的测试模型', { name: channel.name })}
      value={chosen}
      options={models.includes(chosen) ? models : [chosen, ...models]}
      onCommit={(model) => texts.setTestModel(channel, model)}
    />
  )
}

/** Widths for a window of 1440 px, where each head fits on one line with its sort mark. */
export function channelColumns(texts: ChannelTexts): Column<Channel>[] {
  return [...namingColumns(texts), ...measuredColumns(texts)]
}

function namingColumns({ t }: ChannelTexts): Column<Channel>[] {
  return [
    {
      id: 'id',
      head: 'ID',
      cell: (channel) => <span className={styles['quiet']}>{channel.id}</span>,
      sortBy: (channel) => channel.id,
      width: 60,
      growth: 1.7,
    },
    {
      id: 'name',
      head: t('名称'),
      cell: (channel) => (
        <span className={styles['name']} title={channel.name}>
          {channel.name || t('未命名')}
        </span>
      ),
      sortBy: (channel) => channel.name,
      width: 106,
      growth: 6.6,
    },
    {
      id: 'group',
      head: t('分组'),
      cell: (channel) => <Groups channel={channel} />,
      sortBy: (channel) => channel.group ?? '',
      width: 120,
      growth: 2,
    },
    {
      id: 'type',
      head: t('类型'),
      cell: (channel) => <TypeName type={channel.type} t={t} />,
      sortBy: (channel) => typeName(channel.type, t),
      width: 112,
      growth: 2.2,
    },
    {
      id: 'status',
      head: t('状态'),
      cell: (channel) => <State channel={channel} t={t} />,
      sortBy: (channel) => channel.status,
      width: 116,
      growth: 2.8,
    },
  ]
}

function measuredColumns(texts: ChannelTexts): Column<Channel>[] {
  const { t } = texts
  return [
    {
      id: 'response_time',
      head: t('响应时间'),
      cell: (channel) => <ResponseTime channel={channel} t={t} />,
      sortBy: responseOrder,
      align: 'end',
      width: 72,
      growth: 4.2,
    },
    {
      id: 'balance',
      head: t('余额'),
      cell: (channel) => <Balance channel={channel} texts={texts} />,
      sortBy: (channel) => channel.balance,
      align: 'end',
      width: 76,
      growth: 2.2,
    },
    {
      id: 'priority',
      head: t('优先级'),
      cell: (channel) => <Priority channel={channel} texts={texts} />,
      sortBy: (channel) => channel.priority ?? 0,
      align: 'end',
      width: 60,
      growth: 4.7,
    },
    {
      id: 'test_model',
      head: t('测试模型'),
      cell: (channel) => <TestModel channel={channel} texts={texts} />,
      sortBy: testModelOf,
      width: 102,
      growth: 2,
    },
  ]
}

export function channelBlock(texts: ChannelTexts): (channel: Channel) => Block {
  const { t } = texts
  return (channel) => ({
    id: channel.id,
    title: channel.name || t('未命名'),
    titleEnd: <State channel={channel} t={t} />,
    line: (
      <span className={styles['blockLine']}>
        <TypeName type={channel.type} t={t} />
        <Groups channel={channel} />
      </span>
    ),
    lineEnd: <ResponseTime channel={channel} t={t} />,
    more: (
      <div className={styles['blockFields']}>
        <span>{t('优先级')}</span>
        <Priority channel={channel} texts={texts} />
        <span>{t('余额')}</span>
        <Balance channel={channel} texts={texts} />
        <span>{t('测试模型')}</span>
        <TestModel channel={channel} texts={texts} />
      </div>
    ),
  })
}
