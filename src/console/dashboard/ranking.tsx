import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { Overview } from '../../contract/dashboard-api.ts'
import type { DashboardDimension } from '../../contract/dashboard.ts'
import { useQuotaText } from '../app/status.ts'
import { paths } from '../paths.ts'
import { Panel } from '../ui/page.tsx'
import { dimensions } from './overview.ts'
import { quotaDecimals, useNameText } from './usage-panel.tsx'
import styles from './dashboard.module.css'

interface RankingProps {
  overview: Overview
  by: DashboardDimension
}

/** Usage by name, most first. */
export function Ranking({ overview, by }: RankingProps) {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  const { names, totals } = overview
  const what = t(dimensions.find(({ name }) => name === by)?.label ?? '')
  const most = Math.max(1, ...names.map(({ quota }) => quota))
  const count = (value: number) => value.toLocaleString('en-US')
  // English uses it within a sentence.
  const title = t('{{what}}排行', { what: what.toLowerCase() })
  return (
    <Panel title={title}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrolls in narrow
          windows */}
      <section className={styles['tableBox']} aria-label={title} tabIndex={0}>
        <table className={styles['table']} data-ranking>
          <thead>
            <tr>
              <th scope="col">{t('名称')}</th>
              {/* The sort column comes first: phones show no more at once. */}
              <th scope="col">{t('额度')}</th>
              <th scope="col">{t('占比')}</th>
              <th scope="col" data-wide>
                {t('请求次数')}
              </th>
              <th scope="col" data-wide>
                {t('提示 tokens')}
              </th>
              <th scope="col" data-wide>
                {t('补全 tokens')}
              </th>
            </tr>
          </thead>
          <tbody>
            {names.map((named) => (
              <tr key={`${named.user_id} ${named.name}`}>
                <th scope="row">
                  <div className={styles['named']}>
                    <meter
                      className={styles['share']}
                      min={0}
                      max={most}
                      value={named.quota}
                      aria-hidden="true"
                    />
                    <RankedName named={named} by={by} />
                    {/* On phones, which have no space for the column. */}
                    <small>{t('请求 {{calls}} 次', { calls: count(named.requests) })}</small>
                  </div>
                </th>
                <td>{quotaText(named.quota, Math.max(4, quotaDecimals(totals.quota) ?? 0))}</td>
                <td>{shareText(named.quota, totals.quota)}</td>
                <td data-wide>{count(named.requests)}</td>
                <td data-wide>{count(named.prompt_tokens)}</td>
                <td data-wide>{count(named.completion_tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  )
}

/** A name with a link to the channel, or to the calls of a user or token. */
function RankedName({ named, by }: { named: Overview['names'][number]; by: DashboardDimension }) {
  const nameText = useNameText(by)
  const { name, user_id: userId, username } = named
  const isOthersToken = by === 'token' && username !== undefined
  const text = isOthersToken ? `${username} / ${nameText(name)}` : nameText(name)
  const ofUser = userId === undefined ? undefined : { username: `#${userId}` }
  return (
    <span className={styles['name']} title={text}>
      {by === 'channel' && <Link to={paths.channelEdit(Number(name))}>{text}</Link>}
      {ofUser !== undefined && (
        <Link to={paths.log} search={by === 'token' ? { ...ofUser, token_name: name } : ofUser}>
          {text}
        </Link>
      )}
      {by !== 'channel' && ofUser === undefined && text}
    </span>
  )
}

/** One decimal; a small share is not shown as zero. */
function shareText(part: number, whole: number): string {
  if (whole === 0) return '—'
  const percent = (part / whole) * 100
  return percent > 0 && percent < 0.1 ? '<0.1%' : `${percent.toFixed(1)}%`
}
