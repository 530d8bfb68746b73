import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { call } from '../app/call.ts'
import { systemName, useStatus } from '../app/status.ts'
import { Loading } from '../ui/loading.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { LoadError } from '../ui/states.tsx'
import { Content } from './content.tsx'

export function AboutPage() {
  const { t } = useTranslation()
  const { data, error, refetch } = useQuery({
    queryKey: ['about'],
    queryFn: ({ signal }) => call('GET /api/about', {}, { signal }),
  })
  // After a failed refresh the previous text stays.
  if (error !== null && data === undefined) {
    return (
      <Page title={t('关于')}>
        <LoadError what={t('关于页面')} error={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  if (data === undefined) return <Loading />
  return data.trim() === '' ? <DefaultAbout /> : <Content text={data} title={t('关于')} />
}

function DefaultAbout() {
  const { t } = useTranslation()
  const status = useStatus()
  return (
    <Page title={t('关于')}>
      <Panel title={`${systemName(status)} ${status.version ?? ''}`}>
        <p>{t('一个自托管的 AI 模型接口网关：一个地址、一个令牌调用多家模型，用量逐笔计入额度')}</p>
      </Panel>
    </Page>
  )
}
