import { USAGE_FILE_COLUMNS, type UsageFileColumn } from '../../../contract/dashboard.ts'
import { BYTE_ORDER_MARK, csvCell } from '../../../contract/log-file.ts'
import type { App } from '../../app.ts'
import { dayAtOrAfter } from '../../clock.ts'
import { logsDeletedBefore } from '../../log/cleanup/cleanup-store.ts'
import { Pace } from '../../log/export/pace.ts'
import type { ExportFile } from '../../log/export/send-file.ts'
import { addFigures, daysAndHours, noFigures, type Figures, type HourRange } from '../dashboard.ts'
import { presentNames } from '../dashboard-store.ts'
import { nextUsers, usageOfUsers } from './usage-export-store.ts'
import { withoutTrailing } from '../../../contract/text.ts'

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
  let text = BYTE_ORDER_MARK + line(USAGE_FILE_COLUMNS.map(csvCell))
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
  const cells: Record<UsageFileColumn, string> = {
    user_id: csvCell(names.user_id),
    username: csvCell(names.username),
    model_name: csvCell(names.model_name),
    requests: figureCell(figures.requests),
    prompt_tokens: figureCell(figures.prompt_tokens),
    completion_tokens: figureCell(figures.completion_tokens),
    quota: figureCell(figures.quota),
    cost_usd: figureCell(dollarText(figures.quota, quotaPerUnit)),
  }
  return line(USAGE_FILE_COLUMNS.map((name) => cells[name]))
}

const line = (cells: readonly string[]): string => `${cells.join(',')}\r\n`

/** Figures need no guard: a negative number is not a formula. */
const figureCell = (figure: number | string): string => `"${figure}"`

/** Decimals of a dollar amount, as in the log's files. */
const DOLLAR_PLACES = 10
/** Number of digits that a JavaScript number always represents exactly. */
const EXACT_DIGITS = 15

/** Formats points as dollars, without trailing zeros. */
export function dollarText(quota: number, quotaPerUnit: number): string {
  const dollars = quota / quotaPerUnit
  const wholeDigits = Math.trunc(Math.abs(dollars)).toString().length
  const places = Math.min(DOLLAR_PLACES, Math.max(0, EXACT_DIGITS - wholeDigits))
  const text = dollars.toFixed(places)
  return places === 0 ? text : withoutTrailing(withoutTrailing(text, '0'), '.')
}
