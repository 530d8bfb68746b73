import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import { jsonMembers } from '../egress/http-call.ts'

/** A model that an enabled channel serves to a group. */
export interface ServedModel {
  model: string
  /** Upstream name. */
  sent: string
  /** Channel type. */
  type: number
}

/**
 * Returns each model once, independent of the number of channels: thousands of them share a few
 * mappings.
 */
export async function servedModels(db: Queries): Promise<ServedModel[]> {
  const rows = await db
    .selectFrom((from) =>
      from
        .selectFrom('abilities')
        .innerJoin('channels', 'channels.id', 'abilities.channel_id')
        .select(['abilities.model', 'channels.type', 'channels.model_mapping'])
        .distinct()
        .where('abilities.enabled', '=', true)
        .as('served'),
    )
    // Joined to one comma-separated text, because model names contain no commas.
    .select(['type', 'model_mapping', sql<string>`string_agg(model, ',')`.as('models')])
    .groupBy(['type', 'model_mapping'])
    .execute()
  return rows.flatMap(({ type, model_mapping: mapping, models }) => {
    const names = jsonMembers(mapping ?? '')
    return models.split(',').map((model) => ({ model, type, sent: sentName(model, names) }))
  })
}

/** Applies the channel's mapping, a JSON text; an adopted one may be invalid. */
function sentName(model: string, mapping: Record<string, unknown> | null): string {
  const sent = mapping?.[model]
  return typeof sent === 'string' && sent !== '' ? sent : model
}
