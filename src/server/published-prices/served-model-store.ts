import type { Queries } from '../db/database.ts'
import { jsonMembers } from '../egress/http-call.ts'

/** A model that an enabled channel serves to somebody. */
export interface ServedModel {
  model: string
  /** How it is called there. */
  sent: string
  /** The channel's. */
  type: number
}

export async function servedModels(db: Queries): Promise<ServedModel[]> {
  const rows = await db
    .selectFrom('abilities')
    .innerJoin('channels', 'channels.id', 'abilities.channel_id')
    .select(['abilities.model', 'channels.type', 'channels.model_mapping'])
    .distinct()
    .where('abilities.enabled', '=', true)
    .execute()
  return rows.map(({ model, type, model_mapping: mapping }) => ({
    model,
    type,
    sent: sentName(model, mapping ?? ''),
  }))
}

/** By the channel's mapping, a JSON text; an adopted one may be anything. */
function sentName(model: string, mapping: string): string {
  const sent = jsonMembers(mapping)?.[model]
  return typeof sent === 'string' && sent !== '' ? sent : model
}
