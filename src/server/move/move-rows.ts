import type { Transaction } from 'kysely'
import type { Progress } from '../db/database.ts'
import type { Schema } from '../db/schema.ts'
import { MoveError, movedValue, type MovedValue, type SqliteValue } from './move-value.ts'
import type { MoveSource } from './source-store.ts'
import { insertColumns, type TargetTable } from './target-store.ts'

/** Texts that PostgreSQL cannot store unchanged: their number, and the places of the first ones. */
export interface OddTexts {
  count: number
  lines: string[]
}

const ODD_LINES_MAX = 50

function note(odd: OddTexts, line: string): void {
  odd.count += 1
  if (odd.lines.length < ODD_LINES_MAX) odd.lines.push(line)
}

interface RowMove {
  source: MoveSource
  table: TargetTable
  odd: OddTexts
  progress: Progress
}

const ROWS_PER_LINE = 100_000
/** Maximum rows, and approximate maximum characters, per statement. */
const ROWS_PER_PIECE = 2000
const SIZE_PER_PIECE = 4 * 1024 * 1024
/** Character that a decoder writes for invalid bytes. */
const REPLACEMENT = '\u{fffd}'

/** Copies the rows of a table in pieces. */
export async function moveRows(trx: Transaction<Schema>, move: RowMove): Promise<void> {
  const { source, table, progress } = move
  const names = table.columns.map(({ name }) => name)
  const found = source.tables.get(table.name)
  if (found === undefined) throw new Error(`the file has no table ${table.name}`)
  const keyAt = found.key.map((name) => names.indexOf(name))
  const newPiece = (): MovedValue[][] => names.map(() => [])
  let piece = newPiece()
  let size = 0
  let done = 0
  for (const row of source.rows(table.name, names)) {
    const key = keyAt.map((at) => row[at] ?? null)
    for (const [at, column] of piece.entries()) {
      const value = take(row[at] ?? null, { at, key, move })
      column.push(value)
      size += sizeOf(value)
    }
    done += 1
    if (done % ROWS_PER_PIECE === 0 || size > SIZE_PER_PIECE) {
      await insertColumns(trx, table, piece)
      piece = newPiece()
      size = 0
    }
    if (done % ROWS_PER_LINE === 0) progress(`moved ${done} rows of ${table.name}`)
  }
  if (piece[0]?.length !== 0) await insertColumns(trx, table, piece)
}

const sizeOf = (value: MovedValue): number =>
  typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 0

function take(
  value: SqliteValue,
  { at, key, move }: { at: number; key: readonly SqliteValue[]; move: RowMove },
): MovedValue {
  const { source, table, odd } = move
  const column = table.columns[at]
  if (column === undefined) throw new Error(`${table.name} has no column ${at}`)
  const place = () => `${table.name} ${key.join(' ')}: ${column.name}`
  const moved = movedValue(value, column.kind, () =>
    note(odd, `${place()} contained NUL characters, which were removed`),
  )
  if (moved === undefined) {
    throw new MoveError(`${place()} has a value of the wrong type`)
  }
  if (typeof value === 'string' && value.includes(REPLACEMENT)) {
    if (!source.isStoredSo(table.name, column.name, key)) {
      note(odd, `${place()} contained invalid bytes, which were replaced`)
    }
  }
  return moved
}
