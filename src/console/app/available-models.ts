import { queryOptions } from '@tanstack/react-query'
import { call } from './call.ts'

/** Models that tokens of a group can call. A One API server sends null instead of an empty list. */
export const availableModelsOf = (group: string) =>
  queryOptions({
    queryKey: ['available-models', group],
    queryFn: async ({ signal }): Promise<string[]> => {
      const query = { group }
      const models: string[] | null = await call(
        'GET /api/user/available_models',
        { query },
        { signal },
      )
      return models ?? []
    },
  })

/** Models that the signed-in user can call. */
export const availableModelsQuery = availableModelsOf('')
