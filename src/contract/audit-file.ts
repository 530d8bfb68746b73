import { csvLine, rowFile, type LogFileFormat, type RowFile } from './log-file.ts'

/** Columns of an audit entry in a file, by their wire names. */
export const AUDIT_FILE_COLUMNS = [
  'id',
  'created_at',
  'actor_id',
  'actor_name',
  'address',
  'request_id',
  'action',
  'target_id',
  'target_name',
  'before',
  'after',
  'prev_hash',
  'hash',
] as const

export type AuditFileRow = Readonly<
  Record<Exclude<(typeof AUDIT_FILE_COLUMNS)[number], 'created_at'>, unknown>
> & { readonly created_at: number }

/** Writes files of audit entries. `timeText` writes a time in a table. */
export const auditFile = (
  format: LogFileFormat,
  timeText: (seconds: number) => string,
): RowFile<AuditFileRow> =>
  rowFile(format, {
    columns: AUDIT_FILE_COLUMNS,
    json: (row) => JSON.stringify(row),
    csv: (row) =>
      csvLine(
        AUDIT_FILE_COLUMNS.map((name) =>
          name === 'created_at' ? timeText(row.created_at) : row[name],
        ),
      ),
  })
