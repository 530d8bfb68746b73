import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { useTranslation } from 'react-i18next'
import type { ChannelKey, KeyChange } from '../../../contract/route-api.ts'
import { call } from '../../app/call.ts'
import { mark } from '../../app/i18n.ts'
import { useHasFeature } from '../../app/status.ts'
import { stampText } from '../../app/time.ts'
import { Action, ConfirmAction } from '../../ui/actions.tsx'
import { FactRow } from '../../ui/form.tsx'
import { StateDot, type Tone } from '../../ui/marks.tsx'
import { LoadError, Skeleton } from '../../ui/states.tsx'
import styles from './key-health.module.css'

const states: Record<ChannelKey['state'], { tone: Tone; name: string }> = {
  in_use: { tone: 'good', name: mark('使用中') },
  throttled: { tone: 'warning', name: mark('上游限流') },
  circuit: { tone: 'warning', name: mark('近期失败过多，暂缓使用') },
  paused: { tone: 'bad', name: mark('已自动暂停') },
  off: { tone: 'off', name: mark('已手动暂停') },
}

function reasonOf({ state, status, cause, since, until }: ChannelKey, t: TFunction): string {
  if (state === 'off') return t('{{stamp}} 起，直到恢复', { stamp: stampText(since) })
  if (state === 'paused') {
    const refusal = `${status} ${cause}`
    return t('被上游拒绝（{{refusal}}），将于 {{stamp}} 重试', { refusal, stamp: stampText(until) })
  }
  return until > 0 ? t('{{until}} 后可用', { until: stampText(until) }) : ''
}

type Change = (action: KeyChange['action'], key_id?: string) => Promise<void>

function KeyActions({ of, all, change }: { of: ChannelKey; all: ChannelKey[]; change: Change }) {
  const { t } = useTranslation()
  const isLastOn = all.every(({ id, state }) => id === of.id || state === 'off')
  const why = isLastOn ? { why: t('其余密钥均已手动暂停') } : {}
  return (
    <div className={styles['actions']}>
      {of.state !== 'in_use' && (
        <Action label={t('恢复')} onClick={() => change('resume', of.id)} />
      )}
      {of.state !== 'paused' && of.state !== 'off' && (
        <Action label={t('暂停')} onClick={() => change('pause', of.id)} {...why} />
      )}
      {all.length > 1 && (
        <ConfirmAction
          label={t('移除')}
          question={t('从渠道中移除密钥 {{tail}}？移除后无法恢复', { tail: of.tail })}
          confirmLabel={t('移除密钥')}
          onClick={() => change('remove', of.id)}
          {...why}
        />
      )}
    </div>
  )
}

/** Actions on all paused keys, if there is more than one. */
function AllActions({ all, change }: { all: ChannelKey[]; change: Change }) {
  const { t } = useTranslation()
  const refused = all.filter(({ state }) => state === 'paused').length
  const aside = refused + all.filter(({ state }) => state === 'off').length
  if (aside < 2) return null
  return (
    <div className={styles['actions']}>
      <Action label={t('全部恢复')} onClick={() => change('resume_all')} />
      {refused > 1 && refused < all.length && (
        <ConfirmAction
          label={t('移除被拒绝的')}
          question={t('从渠道中移除被上游拒绝的 {{count}} 个密钥？移除后无法恢复', {
            count: refused,
          })}
          confirmLabel={t('移除密钥')}
          onClick={() => change('remove_refused')}
        />
      )}
    </div>
  )
}

/** State of a channel's keys. The keys themselves are never shown. */
export function KeyHealth({ channelId, count }: { channelId: number; count: number }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  const isKnown = useHasFeature()('channel-keys') && count > 1
  const name = ['channel-keys', channelId]
  const { data, error, refetch } = useQuery({
    queryKey: name,
    queryFn: ({ signal }) =>
      call('GET /api/channel/key/:id', { params: { id: channelId } }, { signal, background: true }),
    enabled: isKnown,
    staleTime: 0,
  })
  if (!isKnown) return null
  const change: Change = async (action, key_id = '') => {
    const keys = await call('PUT /api/channel/key/', { body: { id: channelId, key_id, action } })
    // A response in flight may predate the change.
    await client.cancelQueries({ queryKey: name })
    client.setQueryData(name, keys)
  }
  return (
    <FactRow label={t('各个密钥')}>
      {error !== null && (
        <LoadError isAlert what={t('各个密钥')} error={error} onRetry={() => void refetch()} />
      )}
      {data === undefined && error === null && <Skeleton width={240} />}
      {data !== undefined && (
        <ul className={styles['keys']} aria-label={t('各个密钥')}>
          {data.map((key) => (
            <li key={key.id}>
              <code>{key.tail}</code>
              <div className={styles['state']}>
                <StateDot tone={states[key.state].tone}>{t(states[key.state].name)}</StateDot>
                <span>{reasonOf(key, t)}</span>
              </div>
              <KeyActions of={key} all={data} change={change} />
            </li>
          ))}
        </ul>
      )}
      {data !== undefined && <AllActions all={data} change={change} />}
    </FactRow>
  )
}
