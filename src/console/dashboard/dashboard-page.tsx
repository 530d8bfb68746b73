import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { useTranslation } from 'react-i18next'
import type { Overview } from '../../contract/dashboard-api.ts'
import type { DashboardDimension } from '../../contract/dashboard.ts'
import { isAdmin } from '../../contract/user.ts'
import { call } from '../app/call.ts'
import { LinkButton } from '../app/link-button.tsx'
import { useListState } from '../app/list/list-state.ts'
import { useSessionUser } from '../app/session.ts'
import { useHasFeature, useQuotaText } from '../app/status.ts'
import { nowSeconds } from '../app/time.ts'
import { paths } from '../paths.ts'
import { ChoiceButtons } from '../ui/field/choice-buttons.tsx'
import { Figures } from '../ui/figures/figures.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { Empty, LoadError, Skeleton } from '../ui/states.tsx'
import {
  dimensions,
  failureShare,
  growth,
  type Metric,
  metrics,
  overviewOfWeek,
  type RangeName,
  rangeQuery,
  ranges,
} from './overview.ts'
import { noFailureFilters } from './failure-filters.tsx'
import { FailureList } from './failure-list.tsx'
import { Ranking } from './ranking.tsx'
import { UsageExport } from './usage-export.tsx'
import { quotaDecimals, UsagePanel } from './usage-panel.tsx'
import styles from './dashboard.module.css'

const ADMIN_DIMENSIONS = dimensions.map(({ name }) => name)
const OWN_DIMENSIONS: readonly DashboardDimension[] = ['model', 'token']
const ONE_API_DIMENSIONS: readonly DashboardDimension[] = ['model']

/** Choices from the address, as far as they are available. */
function useChoices() {
  const { get, set } = useListState()
  const user = useSessionUser()
  const hasFeature = useHasFeature()
  const isKnown = hasFeature('dashboard')
  const isOfAll = user !== null && isAdmin(user.role) && isKnown
  const offered = isOfAll ? ADMIN_DIMENSIONS : isKnown ? OWN_DIMENSIONS : ONE_API_DIMENSIONS
  return {
    isKnown,
    isOfAll,
    hasExport: isOfAll && hasFeature('usage-export'),
    offered,
    range: (ranges.find(({ name }) => name === get('range')) ?? ranges[1]).name,
    metric: (metrics.find(({ name }) => name === get('metric')) ?? metrics[0]).name,
    by: offered.find((name) => name === get('by')) ?? ('model' as const),
    showsFailures: get('failures') !== '',
    setRange: (range: RangeName) => set({ range }),
    showFailures: (shows: boolean) => set({ ...noFailureFilters, failures: shows ? '1' : '' }),
    setMetric: (metric: Metric) => set({ metric }),
    setBy: (by: DashboardDimension) => set({ by }),
  }
}

const MINUTES = -1

function useOverview(range: RangeName, by: DashboardDimension, isKnown: boolean) {
  return useQuery({
    queryKey: ['dashboard', isKnown, range, by],
    queryFn: async ({ signal }): Promise<Overview> => {
      const options = { signal }
      if (!isKnown) {
        return overviewOfWeek(await call('GET /api/user/dashboard', {}, options), nowSeconds())
      }
      const query = rangeQuery(range, nowSeconds())
      const zone = {
        tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
        // For servers that do not know the time zone. `getTimezoneOffset` counts minutes from local
        // time to UTC.
        offset_minutes: MINUTES * new Date().getTimezoneOffset(),
      }
      return call('GET /api/dashboard', { query: { ...query, ...zone, by } }, options)
    },
    placeholderData: keepPreviousData,
  })
}

function RangeButtons({
  range,
  onRange,
}: {
  range: RangeName
  onRange: (range: RangeName) => void
}) {
  const { t } = useTranslation()
  return (
    <ChoiceButtons
      label={t('时间范围')}
      choices={ranges.map(({ name, label }) => ({
        label: t(label),
        isChosen: name === range,
        onChoose: () => onRange(name),
      }))}
    />
  )
}

function growthText(now: number, before: number, t: TFunction): string {
  const percent = growth(now, before)
  if (percent === null) return ''
  return t('较上一周期 {{change}}', { change: `${percent >= 0 ? '+' : ''}${percent}%` })
}

interface FailuresShown {
  isShown: boolean
  onShow: (isShown: boolean) => void
}

interface TotalsProps extends FailuresShown {
  overview: Overview | undefined
}

function Totals({ overview, isShown, onShow }: TotalsProps) {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  const labels = [t('消耗额度'), t('请求次数'), t('提示 tokens'), t('补全 tokens')]
  if (overview === undefined) {
    const value = <Skeleton width={96} />
    return <Figures isBusy figures={labels.map((label) => ({ label, value }))} />
  }
  const { totals, previous } = overview
  const share = failureShare(totals)
  const failed =
    totals.failures === 0 || share === null ? (
      growthText(totals.requests, previous.requests, t)
    ) : (
      <button
        type="button"
        className={styles['failed']}
        aria-expanded={isShown}
        onClick={() => onShow(!isShown)}
      >
        {t('另有失败 {{failed}} 次（{{share}}%）', {
          failed: totals.failures.toLocaleString('en-US'),
          share,
        })}
      </button>
    )
  const [quota = '', requests = '', prompt = '', completion = ''] = labels
  return (
    <Figures
      figures={[
        {
          label: quota,
          value: quotaText(totals.quota, quotaDecimals(totals.quota)),
          note: growthText(totals.quota, previous.quota, t),
        },
        { label: requests, value: totals.requests.toLocaleString('en-US'), note: failed },
        {
          label: prompt,
          value: totals.prompt_tokens.toLocaleString('en-US'),
          note: growthText(totals.prompt_tokens, previous.prompt_tokens, t),
        },
        {
          label: completion,
          value: totals.completion_tokens.toLocaleString('en-US'),
          note: growthText(totals.completion_tokens, previous.completion_tokens, t),
        },
      ]}
    />
  )
}

export function DashboardPage() {
  const { t } = useTranslation()
  const choices = useChoices()
  const { range, metric, by, offered, isKnown, isOfAll } = choices
  const { data, error, refetch, isPlaceholderData } = useOverview(range, by, isKnown)
  const unit = ranges.find(({ name }) => name === range)?.unit ?? 'day'
  if (error !== null && data === undefined) {
    return (
      <Page
        title={t('概览')}
        // Another range may load successfully.
        actions={isKnown && <RangeButtons range={range} onRange={choices.setRange} />}
      >
        <LoadError what={t('概览')} error={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  const isEmpty = data !== undefined && data.totals.requests === 0 && data.totals.failures === 0
  return (
    <Page
      title={t('概览')}
      facts={isOfAll ? t('全部用户') : t('我的用量')}
      actions={
        isKnown && (
          <>
            <RangeButtons range={range} onRange={choices.setRange} />
            {/* Remounted with the range, whose days are the initial values. */}
            {choices.hasExport && <UsageExport key={range} range={range} />}
          </>
        )
      }
    >
      <div className={styles['parts']} aria-busy={isPlaceholderData}>
        <Totals overview={data} isShown={choices.showsFailures} onShow={choices.showFailures} />
        {isKnown && choices.showsFailures && (
          <FailureList
            range={range}
            isOfAll={isOfAll}
            onClose={() => choices.showFailures(false)}
          />
        )}
        {data === undefined && (
          <Panel>
            <div className={styles['chartBox']} />
          </Panel>
        )}
        {isEmpty && (
          <Panel>
            <Empty
              sentence={t('这段时间没有调用')}
              action={
                <LinkButton size="xs" variant="default" to={paths.token}>
                  {t('查看令牌')}
                </LinkButton>
              }
            />
          </Panel>
        )}
        {data !== undefined && !isEmpty && (
          <>
            <UsagePanel
              overview={data}
              unit={isKnown ? unit : 'day'}
              metric={metric}
              by={by}
              offered={offered}
              onMetric={choices.setMetric}
              onDimension={choices.setBy}
            />
            <Ranking overview={data} by={by} />
          </>
        )}
      </div>
    </Page>
  )
}
