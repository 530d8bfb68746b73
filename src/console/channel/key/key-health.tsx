import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { useTranslation } from 'react-i18next'
import type { ChannelKey } from '../../../contract/route-api.ts'
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
  paused: { tone: 'bad', name: mark('已停用') },
}

function why({ state, status, cause, until }: ChannelKey, t: TFunction): string {
  if (state === 'paused') {
    const said = `${status} ${cause}`
    return t('上游拒绝（{{said}}），{{stamp}} 再试', { said, stamp: stampText(until) })
  }
  return until > 0 ? t('{{until}} 后可用', { until: stampText(until) }) : ''
}

/** How the keys of a channel fare, which are never shown themselves. */
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
  const change = async (key_id: string, action: 'resume' | 'remove') => {
    const keys = await call('PUT /api/channel/key/', { body: { id: channelId, key_id, action } })
    client.setQueryData(name, keys)
  }
  return (
    <FactRow label={t('各个密钥')}>
      {error !== null && (
        <LoadError what={t('各个密钥')} error={error} onRetry={() => void refetch()} />
      )}
      {data === undefined && error === null && <Skeleton width={240} />}
      {data !== undefined && (
        <ul className={styles['keys']} aria-label={t('各个密钥')}>
          {data.map((key) => (
            <li key={key.id}>
              <code>{key.tail}</code>
              <div className={styles['state']}>
                <StateDot tone={states[key.state].tone}>{t(states[key.state].name)}</StateDot>
                <span>{why(key, t)}</span>
              </div>
              <div className={styles['actions']}>
                {key.state === 'paused' && (
                  <Action label={t('恢复')} onClick={() => change(key.id, 'resume')} />
                )}
                {data.length > 1 && (
                  <ConfirmAction
                    label={t('移除')}
                    question={t('从渠道中移除密钥 {{tail}}？移除后无法恢复', { tail: key.tail })}
                    confirmLabel={t('移除密钥')}
                    onClick={() => change(key.id, 'remove')}
                  />
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </FactRow>
  )
}
