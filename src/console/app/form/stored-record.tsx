import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Loading } from '../../ui/loading.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, LoadError } from '../../ui/states.tsx'
import { CallFailure } from '../call-client.ts'
import { useTitlePart } from '../routing/title-part.ts'

interface StoredRecordProps<Thing> {
  /** Page title until the record is loaded. */
  title: string
  /** Display name of what is loaded. */
  what: string
  /** Kind and id of the record. */
  queryKey: readonly [kind: string, id: string]
  load: (id: number, signal: AbortSignal) => Promise<Thing>
  /** Name of the record for the window title. */
  nameOf: (thing: Thing) => string
  /** Path of the list that contains the record. */
  list: string
  children: (thing: Thing) => ReactNode
}

/**
 * Loads a record and renders its form. Never shows a cached record: edits must start from the
 * stored one.
 */
export function StoredRecord<Thing>(props: StoredRecordProps<Thing>) {
  const { title, what, queryKey, load, nameOf, list, children } = props
  const { t } = useTranslation()
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => load(Number(queryKey[1]), signal),
    gcTime: 0,
    staleTime: Infinity,
  })
  useTitlePart(data === undefined ? '' : nameOf(data))
  if (error instanceof CallFailure && error.refused) {
    // A retry would fail again.
    return (
      <Page title={title}>
        <Empty sentence={error.message} action={<Link to={list}>{t('返回列表')}</Link>} />
      </Page>
    )
  }
  if (error !== null) {
    return (
      <Page title={title}>
        <LoadError what={what} error={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  return data === undefined ? <Loading prompt={what} /> : children(data)
}
