import { USAGE_FILE_COLUMNS, type UsageFileColumn } from '../../../contract/dashboard.ts'
import { BYTE_ORDER_MARK, csvLine, dollarText } from '../../../contract/log-file.ts'
import type { App } from '../../app.ts'
import { dayAtOrAfter } from '../../clock.ts'
import { logsDeletedBefore } from '../../log/cleanup/cleanup-store.ts'
import { Pace } from '../../log/export/pace.ts'
import type { ExportFile } from '../../log/export/send-file.ts'
import { addFigures, daysAndHours, noFigures, type Figures, type HourRange } from '../dashboard.ts'
import { presentNames } from '../dashboard-store.ts'
import { nextUsers, usageOfUsers } from './usage-export-store.ts'

/**
 * A table with the usage of all users, generated while it is sent. It is read in pieces, so memory
 * use does not depend on the number of users.
 */

/** Users per piece; a year of one takes the database some ten milliseconds. */
const USERS_PER_PIECE = 50

/** Reads the first piece before the response begins, so that database errors get a status. */
export async function beginUsageFile(
  app: Pick<App, 'database' | 'clock' | 'options'>,
  range: HourRange,
): Promise<ExportFile> {
  const pieces = usagePieces(app, range)
  const first = await pieces.next()
  return {
    name: 'usage.csv',
    contentType: 'text/csv; charset=utf-8',
    pieces: continued(first, pieces),
  }
}

type Pieces = AsyncGenerator<string, void, undefined>

async function* continued(first: IteratorResult<string, void>, rest: Pieces): Pieces {
  if (first.done === true) return
  yield first.value
  yield* rest
}

async function* usagePieces(
  { database, clock, options }: Pick<App, 'database' | 'clock' | 'options'>,
  range: HourRange,
): Pieces {
  const db = database.heavy
  const parts = daysAndHours(range, dayAtOrAfter(await logsDeletedBefore(db)))
  const quotaPerUnit = options.number('QuotaPerUnit')
  const pace = new Pace()
  const totals = noFigures()
  let text = BYTE_ORDER_MARK + `${csvLine(USAGE_FILE_COLUMNS)}\r\n`
  let after = Number.MIN_SAFE_INTEGER
  for (;;) {
    const beganMs = clock.monotonicMs()
    const ids = await nextUsers(db, { after, countMax: USERS_PER_PIECE })
    const rows = await usageOfUsers(db, ids, parts)
    const names = await presentNames(db, [...new Set(rows.map(({ user_id }) => user_id))])
    for (const { user_id, model_name, ...figures } of rows) {
      addFigures(totals, figures)
      const username = names.get(user_id) ?? `#${user_id}`
      text += lineOf({ user_id: String(user_id), username, model_name }, figures, quotaPerUnit)
    }
    const last = ids.at(-1)
    if (last === undefined) break
    after = last
    if (text !== '') yield text
    text = ''
    await pace.rest(clock.monotonicMs() - beganMs)
  }
  yield text + lineOf({ user_id: 'total', username: '', model_name: '' }, totals, quotaPerUnit)
}

type Name = 'user_id' | 'username' | 'model_name'

function lineOf(names: Record<Name, string>, figures: Figures, quotaPerUnit: number): string {
  const values: Record<Exclude<UsageFileColumn, 'cost_usd'>, string | number> = {
    ...names,
    requests: figures.requests,
    prompt_tokens: figures.prompt_tokens,
    completion_tokens: figures.completion_tokens,
    quota: figures.quota,
  }
  const columns = USAGE_FILE_COLUMNS.filter((name) => name !== 'cost_usd')
  // The last column; a number that is stored as text and needs no guard.
  const cost = dollarText(figures.quota, quotaPerUnit)
  return `${csvLine(columns.map((name) => values[name]))},"${cost}"\r\n`
}
