import { useQuery, useQueryClient } from '@tanstack/react-query'
import { callWhole } from '../../app/call.ts'

/** The settings as the server told them. A One API server leaves out keys that were never saved. */
export interface Options {
  value(key: string): string
  has(key: string): boolean
  /** Whether a secret holds a value; null: this server does not say. */
  isSecretSet(key: string): boolean | null
}

const optionsQuery = {
  queryKey: ['options'],
  queryFn: ({ signal }: { signal: AbortSignal }) => callWhole('GET /api/option/', {}, { signal }),
  // Somebody else may have changed one since.
  staleTime: 0,
}

/** Everything there is to know of the settings; null until it has arrived. */
export function useOptions(): { options: Options | null; error: Error | null; retry: () => void } {
  const { data, error, refetch } = useQuery(optionsQuery)
  const options = data === undefined ? null : toOptions(data.data, data.secrets_set)
  return { options, error, retry: () => void refetch() }
}

function toOptions(
  rows: readonly { key: string; value: string }[],
  // The contract's word; a One API server does not keep it.
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

/** Asks what is saved at this moment. */
export function useSavedOptions(): () => Promise<Options> {
  const client = useQueryClient()
  return async () => {
    const { data, secrets_set } = await client.fetchQuery(optionsQuery)
    return toOptions(data, secrets_set)
  }
}
