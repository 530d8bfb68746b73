import { queryOptions } from '@tanstack/react-query'
import { call } from './call.ts'

/** The models this person may call. A One API server sends null where there is none. */
export const availableModelsQuery = queryOptions({
  queryKey: ['available-models'],
  queryFn: async ({ signal }): Promise<string[]> => {
    const models: string[] | null = await call('GET /api/user/available_models', {}, { signal })
    return models ?? []
  },
})
