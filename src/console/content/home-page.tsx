import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../app/call.ts'
import { readStored, writeStored } from '../app/local-storage.ts'
import { toast } from '../app/toast.ts'
import { Loading } from '../ui/loading.tsx'
import { Page } from '../ui/page.tsx'
import { RichText } from '../ui/rich-text.tsx'
import { LoadError } from '../ui/states.tsx'
import { Content } from './content.tsx'
import { DefaultHome } from './default-home.tsx'

/** Notices shown since the console was loaded: reopening the home page must not show them twice. */
const shownNotices = new Set<string>()

/** Shows the operator's notice, each text until the reader has closed it once. */
function useNotice() {
  const { data: notice } = useQuery({
    queryKey: ['notice'],
    queryFn: ({ signal }) => call('GET /api/notice', {}, { signal, background: true }),
  })
  useEffect(() => {
    if (notice === undefined || notice.trim() === '') return
    if (readStored('notice') === notice || shownNotices.has(notice)) return
    shownNotices.add(notice)
    toast.notice(<RichText text={notice} />, () => writeStored('notice', notice))
  }, [notice])
}

export function HomePage() {
  const { t } = useTranslation()
  useNotice()
  const { data, error, refetch } = useQuery({
    queryKey: ['home-page'],
    queryFn: ({ signal }) => call('GET /api/home_page_content', {}, { signal }),
  })
  // After a failed refresh the previous text stays.
  if (error !== null && data === undefined) {
    return (
      <Page title={t('首页')}>
        <LoadError what={t('首页')} error={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  if (data === undefined) return <Loading />
  return data.trim() === '' ? <DefaultHome /> : <Content text={data} title={t('首页')} />
}
