import { useTranslation } from 'react-i18next'
import type { Channel } from '../../../contract/channel-api.ts'
import { BATCH_IDS_MAX, ChannelStatus } from '../../../contract/channel.ts'
import { call } from '../../app/call.ts'
import type { PagedList } from '../../app/list/paged-list.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import { useReportResult } from './report-result.ts'
import { testRun, useMarkStarted, useRun } from '../run/channel-runs.ts'

/** Maximum number of names in a confirmation. */
const NAMES_MAX = 3

interface SelectionActionsProps {
  channels: readonly Channel[]
  list: PagedList<Channel>
  forget: (ids: readonly number[]) => void
  onCopy: () => Promise<void>
}

function useNamesText(channels: readonly Channel[]): string {
  const { t } = useTranslation()
  const names = channels
    .slice(0, NAMES_MAX)
    .map(({ id, name }) => t('「{{name}}」', { name: name || `#${id}` }))
    .join(t('、'))
  return channels.length > NAMES_MAX ? t('{{names}}等', { names }) : names
}

/** Actions on the selected channels. They stay selected, except for those that no longer exist. */
export function SelectionActions({ channels, list, forget, onCopy }: SelectionActionsProps) {
  const { t } = useTranslation()
  const begun = useMarkStarted()
  const tell = useReportResult()
  const isTesting = useRun(testRun, true)?.running === true
  const names = useNamesText(channels)
  const ids = channels.map(({ id }) => id)
  const count = ids.length
  const tooMany = count > BATCH_IDS_MAX && {
    why: t('一次最多操作 {{max}} 个渠道', { max: BATCH_IDS_MAX }),
  }

  async function act(action: 'enable' | 'disable' | 'delete'): Promise<number> {
    const { missing } = await call('POST /api/channel/batch', { body: { action, ids } })
    forget(action === 'delete' ? ids : missing)
    list.refresh()
    return missing.length
  }
  async function toggle(isOn: boolean) {
    const gone = await act(isOn ? 'enable' : 'disable')
    const status = isOn ? ChannelStatus.enabled : ChannelStatus.disabled
    for (const { id } of list.rows) if (ids.includes(id)) list.update(id, { status })
    const there = { count: count - gone }
    tell(isOn ? t('{{count}} 个渠道已启用', there) : t('{{count}} 个渠道已禁用', there), gone)
  }
  async function test() {
    await call('POST /api/channel/batch/test', { body: { ids } })
    await begun(testRun, 'chosen')
  }
  async function remove() {
    const gone = await act('delete')
    tell(t('已删除 {{count}} 个渠道', { count: count - gone }), gone)
  }
  const testing = isTesting ? { why: t('测试正在进行，请等它完成') } : {}
  return (
    <>
      <Action label={t('启用')} onClick={() => toggle(true)} {...tooMany} />
      <Action label={t('禁用')} onClick={() => toggle(false)} {...tooMany} />
      <Action label={t('测试')} onClick={test} {...testing} {...tooMany} />
      <Action label={t('复制字段…')} onClick={onCopy} {...tooMany} />
      <ConfirmAction
        label={t('删除')}
        question={t('删除选中的 {{count}} 个渠道（{{names}}）？它们的密钥会一并删除，无法恢复', {
          count,
          names,
        })}
        confirmLabel={t('删除 {{count}} 个渠道', { count })}
        onClick={remove}
        {...tooMany}
      />
    </>
  )
}
