import { queryOptions } from '@tanstack/react-query'
import { call } from './call.ts'

/** What tokens of a group may call. A One API server sends null where there is none. */
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

/** The models this person may call. */
export const availableModelsQuery = availableModelsOf('')
