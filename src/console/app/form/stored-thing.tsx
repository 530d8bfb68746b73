import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Loading } from '../../ui/loading.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, LoadError } from '../../ui/states.tsx'
import { CallFailure } from '../call-client.ts'
import { useTitlePart } from '../routing/title-part.ts'

interface StoredThingProps<Thing> {
  /** Of the page, while there is nothing to show in it. */
  title: string
  /** What is loaded, as people call it. */
  what: string
  /** Its kind and its id. */
  queryKey: readonly [kind: string, id: string]
  load: (id: number, signal: AbortSignal) => Promise<Thing>
  /** What it is called, for the window's title. */
  nameOf: (thing: Thing) => string
  /** Path of the list it is in. */
  list: string
  children: (thing: Thing) => ReactNode
}

/** A form over a stored thing, once that has come. What is edited has to be what is saved now. */
export function StoredThing<Thing>(props: StoredThingProps<Thing>) {
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
    // Asking again would be refused again.
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
