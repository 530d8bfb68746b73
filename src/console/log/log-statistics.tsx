import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../app/call.ts'
import { useQuotaText } from '../app/status.ts'
import { type Figure, Figures } from '../ui/figures/figures.tsx'
import { Skeleton } from '../ui/states.tsx'
import { toAdminQuery, toQuery } from './log-filter.ts'
import type { LogList } from './log-list.ts'
import styles from './log.module.css'

function useSums(list: LogList, isWanted: boolean) {
  const { filters, endSeconds, isAdmin } = list
  return useQuery({
    queryKey: ['log-sums', isAdmin, toAdminQuery(filters, endSeconds)],
    queryFn: ({ signal }) =>
      isAdmin
        ? call('GET /api/log/stat', { query: toAdminQuery(filters, endSeconds) }, { signal })
        : call('GET /api/log/self/stat', { query: toQuery(filters, endSeconds) }, { signal }),
    enabled: isWanted,
  })
}

/** Sums of the filtered calls: loaded on click, and hidden when a filter changes. */
export function Statistics({ list }: { list: LogList }) {
  return (
    <div className={styles['statistics']}>
      {/* Forgets the click on every change, so that earlier filters do not show their sums again. */}
      <Sums key={JSON.stringify(list.filters)} list={list} />
    </div>
  )
}

function Sums({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  const [isWanted, setIsWanted] = useState(false)
  const { data, error, refetch } = useSums(list, isWanted)
  const names = {
    quota: t('消耗额度'),
    prompt: t('提示 tokens'),
    completion: t('补全 tokens'),
    total: t('总 tokens'),
  }

  if (!isWanted || error !== null) {
    const say = error === null || !isWanted ? t('点击查看统计') : t('加载失败，点击重试')
    const ask = <span className={styles['ask']}>{say}</span>
    const unknown = <span className={styles['unknown']}>—</span>
    return (
      <Figures
        figures={Object.values(names).map((label, i) => ({
          label,
          value: i === 0 ? ask : unknown,
        }))}
        onClick={() => {
          setIsWanted(true)
          if (isWanted) void refetch()
        }}
      />
    )
  }
  if (data === undefined) {
    const value = <Skeleton width={96} />
    const waiting = Object.values(names).map((label) => ({ label, value }))
    return <Figures isAnswer isBusy figures={waiting} />
  }
  // A One API server sums only quota.
  const counted = (label: string, count: number | undefined): Figure[] =>
    count === undefined ? [] : [{ label, value: count.toLocaleString('en-US') }]
  return (
    <Figures
      isAnswer
      frame="output"
      figures={[
        {
          label: names.quota,
          value: quotaText(data.quota),
          note: t('{{points}} 点', { points: data.quota.toLocaleString('en-US') }),
        },
        ...counted(names.prompt, data.prompt_token),
        ...counted(names.completion, data.completion_token),
        ...counted(names.total, data.token),
      ]}
    />
  )
}
