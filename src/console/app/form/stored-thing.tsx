import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loading } from '../../ui/loading.tsx'
import { Page } from '../../ui/page.tsx'
import { LoadError } from '../../ui/states.tsx'

interface StoredThingProps<Thing> {
  /** Of the page, while there is nothing to show in it. */
  title: string
  /** What is loaded, as people call it. */
  what: string
  /** Its kind and its id. */
  queryKey: readonly [kind: string, id: string]
  load: (id: number, signal: AbortSignal) => Promise<Thing>
  children: (thing: Thing) => ReactNode
}

/** A form over a stored thing, once that has come. What is edited has to be what is saved now. */
export function StoredThing<Thing>(props: StoredThingProps<Thing>) {
  const { title, what, queryKey, load, children } = props
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => load(Number(queryKey[1]), signal),
    gcTime: 0,
    staleTime: Infinity,
  })
  if (error !== null) {
    return (
      <Page title={title}>
        <LoadError what={what} error={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  return data === undefined ? <Loading prompt={what} /> : children(data)
}
