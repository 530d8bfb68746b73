import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { TFunction } from 'i18next'
import { useTranslation } from 'react-i18next'
import type { Log, PriceFactors } from '../../contract/log-api.ts'
import { LogType } from '../../contract/log.ts'
import { call } from '../app/call.ts'
import { currentLanguage, mark } from '../app/i18n.ts'
import { useCostText, useHasFeature } from '../app/status.ts'
import { stampText } from '../app/time.ts'
import { paths } from '../paths.ts'
import { CodeBlock } from '../ui/copy/copy-button.tsx'
import { RequestId } from '../ui/copy/request-id.tsx'
import { type Fact, FactList, PanelPart, SidePanel } from '../ui/float/side-panel.tsx'
import { Skeleton } from '../ui/states.tsx'
import { elapsedText, TypeTag, typeText } from './log-columns.tsx'
import { PriceTable } from './log-price-table.tsx'
import { LogRoute } from './log-route.tsx'
import { contentText, isPriceText } from './text/content-text.ts'
import styles from './log.module.css'

/** Details that the list does not contain; null if the server does not provide them. */
function useDetail(log: Log, isAdmin: boolean) {
  const knowsMore = useHasFeature()('log-detail')
  return useQuery({
    queryKey: ['log', isAdmin, log.id],
    queryFn: async ({ signal }) => {
      const how = { signal }
      const params = { id: log.id }
      if (isAdmin) return call('GET /api/log/:id', { params }, how)
      // Users do not see how a call was routed.
      return { ...(await call('GET /api/log/self/:id', { params }, how)), route: null }
    },
    enabled: knowsMore && log.id > 0,
    // Log rows never change.
    staleTime: Infinity,
  })
}

function manner(log: Log, t: TFunction): string {
  const elapsed = elapsedText(log, t)
  const way = log.is_stream === true ? t('流式') : t('非流式')
  return elapsed === '' ? way : t('{{way}}，用时 {{elapsed}}', { way, elapsed })
}

/** Parameters of the request that were omitted or changed for the upstream. */
function noteFacts(price: PriceFactors | null, t: TFunction): Fact[] {
  const { dropped = [], adjusted = [] } = price ?? {}
  return [
    { label: t('未发送的参数'), value: dropped.join(', ') },
    { label: t('改动的参数'), value: adjusted.join(', ') },
  ].filter(({ value }) => value !== '')
}

interface FactTexts {
  t: TFunction
  costText: (quota: number) => string
  isAdmin: boolean
  /** The exact price is shown below. */
  isPriced: boolean
}

function factsOf(log: Log, { t, costText, isAdmin, isPriced }: FactTexts): Fact[] {
  const isCall = log.type === LogType.consume || log.type === LogType.test
  const who = [isAdmin ? log.username : '', log.token_name].filter((name) => name !== '')
  return [
    { label: t('时间'), value: stampText(log.created_at) },
    { label: t('类型'), value: <TypeTag type={log.type} t={t} /> },
    ...(who.length > 0
      ? [{ label: isAdmin ? t('用户 / 令牌') : t('令牌名称'), value: who.join(' / ') }]
      : []),
    ...(log.channel > 0 && isAdmin
      ? [
          {
            label: t('渠道 ID'),
            value: <Link to={paths.channelEdit(log.channel)}>{log.channel}</Link>,
          },
        ]
      : []),
    ...(log.request_id
      ? [{ label: t('请求 ID'), value: <RequestId key={log.request_id} id={log.request_id} /> }]
      : []),
    ...(isCall ? [{ label: t('调用方式'), value: manner(log, t) }] : []),
    ...(log.prompt_tokens + log.completion_tokens > 0
      ? [{ label: t('提示 / 补全'), value: tokensText(log) }]
      : []),
    ...(log.quota === 0 ? [] : [{ label: t('额度'), value: costText(log.quota) }]),
    ...(log.system_prompt_reset === true
      ? [{ label: t('系统提示词'), value: t('已由渠道替换') }]
      : []),
    ...(log.content && !(isPriced && isPriceText(log.content))
      ? [{ label: t('说明'), value: contentText(log.content, currentLanguage()) }]
      : []),
  ]
}

const tokensText = (log: Log): string =>
  [log.prompt_tokens, log.completion_tokens]
    .map((count) => count.toLocaleString('en-US'))
    .join(' / ')

const sources: Record<PriceFactors['usage_source'], string> = {
  upstream: mark('用量由上游给出'),
  counted: mark('上游没有给出用量，由网关按文本计数'),
  estimated: mark('上游没有给出用量，由网关估算'),
}

function Names({ price, log }: { price: PriceFactors; log: Log }) {
  const { t } = useTranslation()
  const { requested_model, priced_as } = price
  const isMapped = requested_model !== log.model_name
  return (
    <p className={styles['quiet']}>
      {isMapped &&
        t('请求的是 {{requested}}，发给上游的是 {{sent}}，按 {{priced}} 计价。', {
          requested: requested_model,
          sent: log.model_name,
          priced: priced_as,
        })}
      {t(sources[price.usage_source])}
    </p>
  )
}

/** Formats JSON for reading; other text and truncated JSON stay unchanged. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function Bodies({ log, data }: { log: Log; data: Log | undefined }) {
  const { t } = useTranslation()
  if (log.has_body !== true || data === undefined) {
    return (
      <PanelPart title={t('请求与响应')}>
        {data === undefined ? (
          <Skeleton width={320} />
        ) : (
          <p className={styles['quiet']}>{t('没有记录。可以在令牌的设置中选择记录请求与响应')}</p>
        )}
      </PanelPart>
    )
  }
  const texts = [
    { label: t('请求'), text: data.request },
    { label: t('响应'), text: data.response },
  ]
  return (
    <PanelPart title={t('请求与响应')}>
      {texts.map(({ label, text }) => (
        <div key={label} className={styles['body']}>
          <p className={styles['quiet']}>{label}</p>
          {text === '' ? (
            <p className={styles['quiet']}>{t('空')}</p>
          ) : (
            <CodeBlock code={readable(text)} />
          )}
        </div>
      ))}
    </PanelPart>
  )
}

interface LogDetailProps {
  log: Log
  isAdmin: boolean
  onClose: () => void
}

export function LogDetail({ log, isAdmin, onClose }: LogDetailProps) {
  const { t } = useTranslation()
  const costText = useCostText()
  const { data, error, isLoading, refetch } = useDetail(log, isAdmin)
  const price = data?.price ?? null
  const isConsumption = log.type === LogType.consume
  const knowsRoutes = useHasFeature()('channel-routes')
  const knowsBodies = useHasFeature()('log-bodies')
  return (
    <SidePanel title={log.model_name || typeText(log.type, t)} onClose={onClose}>
      <FactList
        facts={[
          ...factsOf(log, { t, costText, isAdmin, isPriced: isLoading || price !== null }),
          ...noteFacts(price, t),
        ]}
      />
      {isLoading && (
        <PanelPart title={t('为什么是这个价格')}>
          <Skeleton width={320} />
        </PanelPart>
      )}
      {error !== null && (
        <PanelPart title={t('为什么是这个价格')}>
          <p className={styles['quiet']}>
            {error.message}{' '}
            <button type="button" className={styles['retry']} onClick={() => void refetch()}>
              {t('重试')}
            </button>
          </p>
        </PanelPart>
      )}
      {price !== null && (
        <PanelPart title={t('为什么是这个价格')}>
          <PriceTable price={price} quota={log.quota} costText={costText} />
          <Names price={price} log={log} />
        </PanelPart>
      )}
      {data !== undefined && price === null && isConsumption && (
        <PanelPart title={t('为什么是这个价格')}>
          <p className={styles['quiet']}>
            {t('这一条没有保存计价的细节。额度 {{quota}}', { quota: costText(log.quota) })}
          </p>
        </PanelPart>
      )}
      {isConsumption && knowsBodies && error === null && <Bodies log={log} data={data} />}
      {isAdmin && isConsumption && knowsRoutes && data !== undefined && (
        <LogRoute route={data.route ?? null} />
      )}
    </SidePanel>
  )
}
