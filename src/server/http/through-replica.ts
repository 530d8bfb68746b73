import type { Endpoint } from '../../contract/endpoint.ts'
import type { App } from '../app.ts'
import type { Actor } from './handler.ts'

/**
 * Lets requests that only read use the replica, and notes the others, so that their caller's next
 * read contains what they changed.
 */
export async function throughReplica<T>(
  { database: { replica } }: Pick<App, 'database'>,
  { endpoint, actor }: { endpoint: Endpoint; actor: Actor | null },
  work: () => Promise<T>,
): Promise<T> {
  if (replica === null || actor === null) return work()
  if (endpoint.method === 'GET' && endpoint.options.changesState !== true) {
    return replica.reading(actor.id, work)
  }
  try {
    return await work()
  } finally {
    await replica.noteWrite(actor.id)
  }
}
