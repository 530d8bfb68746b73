import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { RouteAttempt, RouteCandidate, RouteTrace } from '../../../contract/route-api.ts'
import { paths } from '../../paths.ts'
import { StateDot } from '../../ui/marks.tsx'
import { mark } from '../i18n.ts'
import { secondsText } from '../time.ts'
import { rankText, resultText, resultTone, stateText, stateTone } from './route-texts.ts'
import styles from './route.module.css'

const ChannelName = ({ id, name }: { id: number; name: string }) => (
  <Link className={styles['name']} to={paths.channelEdit(id)}>
    {name} <span>#{id}</span>
  </Link>
)

export const ChannelList = ({ label, children }: { label: string; children: ReactNode }) => (
  <ul className={styles['lines']} aria-label={label}>
    {children}
  </ul>
)

interface ChannelLineProps {
  channel: RouteCandidate
  /** Shown at the end of the line. */
  aside?: ReactNode
  /** Shown below the line. */
  children?: ReactNode
}

/** A channel with its state and rank. */
export function ChannelLine({ channel, aside, children }: ChannelLineProps) {
  const { t } = useTranslation()
  return (
    <li>
      <div className={styles['line']}>
        <ChannelName id={channel.channel_id} name={channel.name} />
        {aside}
      </div>
      <div className={styles['facts']}>
        <StateDot tone={stateTone(channel)}>{stateText(channel, t)}</StateDot>
        <span>{rankText(channel, t)}</span>
      </div>
      {children}
    </li>
  )
}

/** Number of channels that are not listed; nothing for 0. */
export function Omitted({ count }: { count: number }) {
  const { t } = useTranslation()
  return count === 0 ? null : (
    <p className={styles['quiet']}>{t('另有 {{count}} 个渠道未列出', { count })}</p>
  )
}

function Attempts({ attempts }: { attempts: readonly RouteAttempt[] }) {
  const { t } = useTranslation()
  return (
    <ol className={styles['lines']} aria-label={t('各次尝试')}>
      {attempts.map((attempt, index) => (
        // Two attempts with one key differ only by index, and the list never changes.
        <li key={`${index} ${attempt.channel_id}`}>
          <div className={styles['line']}>
            <ChannelName id={attempt.channel_id} name={attempt.name} />
            <span className={styles['time']}>
              {t('{{seconds}} 秒', { seconds: secondsText(attempt.elapsed_ms) })}
            </span>
          </div>
          <div className={styles['facts']}>
            <StateDot tone={resultTone(attempt)}>{resultText(attempt, t)}</StateDot>
            {attempt.key !== '' && <span>{t('密钥 {{key}}', { key: attempt.key })}</span>}
            {attempt.is_trial && <span>{t('试用此前暂停的渠道或密钥')}</span>}
            {attempt.stays === true && <span>{t('该会话沿用上次的渠道')}</span>}
          </div>
          {attempt.message !== undefined && <p className={styles['quiet']}>{attempt.message}</p>}
        </li>
      ))}
    </ol>
  )
}

const outcomes: Record<RouteTrace['outcome'], string> = {
  answered: mark('有渠道响应'),
  failed: mark('没有渠道响应'),
  no_channel: mark('没有可用的渠道'),
}

/** How a call was routed to a channel, or why it was not. */
export function TraceLists({ trace }: { trace: RouteTrace }) {
  const { t } = useTranslation()
  const { attempts, channels, omitted, model, group, outcome } = trace
  const asked = new Set(attempts.map(({ channel_id }) => channel_id))
  const others = channels.filter(({ channel_id }) => !asked.has(channel_id))
  return (
    <>
      <p className={styles['quiet']}>
        {t('模型 {{model}}，分组 {{group}}：{{outcome}}', {
          model,
          group,
          outcome: t(outcomes[outcome]),
        })}
      </p>
      {attempts.length > 0 && <Attempts attempts={attempts} />}
      {others.length > 0 && (
        <>
          <h4 className={styles['title']}>{t('没有用到的渠道')}</h4>
          <ChannelList label={t('没有用到的渠道')}>
            {others.map((channel) => (
              <ChannelLine key={channel.channel_id} channel={channel} />
            ))}
          </ChannelList>
        </>
      )}
      <Omitted count={omitted} />
    </>
  )
}
