import '@mantine/core/styles/Input.layer.css'
import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { RouteForecast, RouteTrace } from '../../../contract/route-api.ts'
import { call } from '../../app/call.ts'
import { ChannelLine, ChannelList, Omitted, TraceLists } from '../../app/route/route-lists.tsx'
import { useCostText } from '../../app/status.ts'
import { stampText } from '../../app/time.ts'
import { BusyButton } from '../../ui/busy/busy-button.tsx'
import { ChoiceButtons } from '../../ui/field/choice-buttons.tsx'
import { SidePanel } from '../../ui/float/side-panel.tsx'
import styles from './route-panel.module.css'

interface Question {
  model: string
  user: string
  token: string
  group: string
  path: string
  conversation: string
}

const PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/embeddings',
  '/v1/images/generations',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/rerank',
  '/v1/moderations',
]
/** Prompt and completion tokens of the price example. */
const TOKENS = 1000

const percent = (share: number): string => `${Math.round(share * 1000) / 10}%`

function Share({ of: share }: { of: number }) {
  const { t } = useTranslation()
  return share === 0 ? null : (
    <strong title={t('首次尝试落在该渠道的概率')}>{percent(share)}</strong>
  )
}

type Considered = RouteForecast['channels'][number]

/** Differences in price and model between channels; a shared price is shown once. */
function Terms({ channel, told }: { channel: Considered; told: RouteForecast }) {
  const { t } = useTranslation()
  const costText = useCostText()
  const { sent_model, price } = channel
  const first = told.channels.find((one) => one.price !== null)
  const isTold = price !== null && (channel === first || price.cost !== first?.price?.cost)
  if (!isTold && sent_model === told.model) return null
  return (
    <p className={styles['price']}>
      {sent_model !== told.model && t('发给上游的模型 {{name}}。', { name: sent_model })}
      {isTold &&
        t('提示与补全各 {{tokens}} tokens 约 {{cost}}', {
          tokens: TOKENS,
          cost: costText(price.cost),
        })}
    </p>
  )
}

function Forecast({ told }: { told: RouteForecast }) {
  const { t } = useTranslation()
  const { refusal, channels, omitted, groups, group, attempts_max: count } = told
  return (
    <div aria-live="polite">
      {refusal === null ? (
        <p className={styles['verdict']}>
          {t('由分组 {{group}} 的渠道处理，最多尝试 {{count}} 次', { group, count })}
        </p>
      ) : (
        <p className={styles['refusal']}>
          {t('会被拒绝：{{message}}', { message: refusal.message })}
        </p>
      )}
      {groups.length > 1 && (
        <p className={styles['quiet']}>
          {t('依次查找的分组：{{groups}}', { groups: groups.join(', ') })}
        </p>
      )}
      {channels.length > 0 && (
        <ChannelList label={t('考虑过的渠道')}>
          {channels.map((channel) => (
            <ChannelLine
              key={channel.channel_id}
              channel={channel}
              aside={<Share of={channel.probability} />}
            >
              {channel.stays && <p className={styles['price']}>{t('该会话沿用上次的渠道')}</p>}
              <Terms channel={channel} told={told} />
            </ChannelLine>
          ))}
        </ChannelList>
      )}
      <Omitted count={omitted} />
    </div>
  )
}

function ForecastForm() {
  const { t } = useTranslation()
  const form = useForm<Question>({
    initialValues: { model: '', user: '', token: '', group: '', path: '', conversation: '' },
    validate: { model: (text) => (text.trim() === '' ? t('请填写模型') : null) },
  })
  const asked = useMutation({
    mutationFn: (question: Question) =>
      call('POST /api/channel/route', {
        body: { ...question, prompt_tokens: TOKENS, completion_tokens: TOKENS },
      }),
  })
  return (
    <section className={styles['part']}>
      <p className={styles['quiet']}>
        {t('一次调用会发给哪个渠道、花多少额度；只作计算，不会发出请求')}
      </p>
      <form
        className={styles['form']}
        aria-label={t('试算')}
        noValidate
        onSubmit={form.onSubmit((question) => asked.mutate(question))}
      >
        <TextInput
          label={t('模型名称')}
          required
          autoComplete="off"
          placeholder="gpt-4o-mini"
          {...form.getInputProps('model')}
        />
        <TextInput
          label={t('接口')}
          autoComplete="off"
          list="route-paths"
          placeholder={PATHS[0] ?? ''}
          {...form.getInputProps('path')}
        />
        <datalist id="route-paths">
          {PATHS.map((path) => (
            <option key={path}>{path}</option>
          ))}
        </datalist>
        <TextInput
          label={t('用户名')}
          autoComplete="off"
          placeholder={t('用户名或 ID，可不填')}
          {...form.getInputProps('user')}
        />
        <TextInput
          label={t('令牌名称')}
          autoComplete="off"
          placeholder={t('名称或 ID，可不填')}
          {...form.getInputProps('token')}
        />
        <TextInput
          label={t('所用分组')}
          autoComplete="off"
          placeholder={t('不填则用令牌或用户的分组')}
          {...form.getInputProps('group')}
        />
        <TextInput
          label={t('会话标识')}
          autoComplete="off"
          placeholder="prompt_cache_key"
          {...form.getInputProps('conversation')}
        />
        <BusyButton type="submit" isBusy={asked.isPending}>
          {t('试算')}
        </BusyButton>
      </form>
      {asked.data !== undefined && <Forecast told={asked.data} />}
    </section>
  )
}

function TraceForm() {
  const { t } = useTranslation()
  const [requestId, setRequestId] = useState('')
  const found = useMutation<RouteTrace, Error, string>({
    mutationFn: (id) => call('GET /api/channel/route/:request_id', { params: { request_id: id } }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (requestId.trim() !== '') found.mutate(requestId.trim())
  }
  return (
    <section className={styles['part']}>
      <p className={styles['quiet']}>
        {t('失败或重试过的调用按请求 ID 查看，没有日志的也能查；保留两周')}
      </p>
      <form className={styles['lookup']} aria-label={t('查看一次调用')} onSubmit={submit}>
        <TextInput
          label={t('请求 ID')}
          autoComplete="off"
          value={requestId}
          onChange={(event) => setRequestId(event.currentTarget.value)}
        />
        <BusyButton type="submit" variant="default" isBusy={found.isPending}>
          {t('查看')}
        </BusyButton>
      </form>
      <div aria-live="polite">
        {found.data !== undefined && (
          <>
            <p className={styles['quiet']}>
              {[stampText(found.data.created_at), found.data.username, found.data.token_name]
                .filter((word) => word !== '')
                .join(' · ')}
            </p>
            <TraceLists trace={found.data} />
          </>
        )}
      </div>
    </section>
  )
}

/** Shows where a call would be routed, and where a past call was. */
export function RoutePanel({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const [isLookup, setIsLookup] = useState(false)
  return (
    <SidePanel title={t('路由')} onClose={onClose}>
      <div className={styles['choice']}>
        <ChoiceButtons
          label={t('路由')}
          choices={[
            { label: t('试算'), isChosen: !isLookup, onChoose: () => setIsLookup(false) },
            { label: t('查看一次调用'), isChosen: isLookup, onChoose: () => setIsLookup(true) },
          ]}
        />
      </div>
      {isLookup ? <TraceForm /> : <ForecastForm />}
    </SidePanel>
  )
}
