import { useQuery, useQueryClient } from '@tanstack/react-query'
import { callWhole } from '../../app/call.ts'

/** The options as the server returned them. A One API server omits keys that were never saved. */
export interface Options {
  value(key: string): string
  has(key: string): boolean
  /** Whether a secret is set; null if the server does not report it. */
  isSecretSet(key: string): boolean | null
}

const optionsQuery = {
  queryKey: ['options'],
  queryFn: ({ signal }: { signal: AbortSignal }) => callWhole('GET /api/option/', {}, { signal }),
  // Another administrator may have changed an option.
  staleTime: 0,
}

/** All options; null until they are loaded. */
export function useOptions(): { options: Options | null; error: Error | null; retry: () => void } {
  const { data, error, refetch } = useQuery(optionsQuery)
  const options = data === undefined ? null : toOptions(data.data, data.secrets_set)
  return { options, error, retry: () => void refetch() }
}

function toOptions(
  rows: readonly { key: string; value: string }[],
  // Required by the contract, but missing from a One API server.
  secretsSet: readonly string[] | undefined,
): Options {
  const values = new Map(rows.map(({ key, value }) => [key, value]))
  return {
    value: (key) => values.get(key) ?? '',
    has: (key) => values.has(key),
    isSecretSet: (key) => secretsSet?.includes(key) ?? null,
  }
}

export function useRefreshOptions(): () => Promise<void> {
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: optionsQuery.queryKey })
}

/** Loads the currently saved options. */
export function useSavedOptions(): () => Promise<Options> {
  const client = useQueryClient()
  return async () => {
    const { data, secrets_set } = await client.fetchQuery(optionsQuery)
    return toOptions(data, secrets_set)
  }
}
