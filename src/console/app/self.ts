import { queryOptions } from '@tanstack/react-query'
import { call } from './call.ts'

/** The signed-in person as the server knows them now. */
export const selfQuery = queryOptions({
  queryKey: ['self'],
  queryFn: ({ signal }) => call('GET /api/user/self', {}, { signal, background: true }),
})
