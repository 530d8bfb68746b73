import type { Queries } from '../db/database.ts'
import type { RecordedCallRow, RecordingRow } from '../db/schema.ts'

/** Announced when a recording begins. On SQLite it does not reach other processes. */
export const RECORDINGS_MESSAGE = 'recordings'

export const allRecordings = (db: Queries): Promise<RecordingRow[]> =>
  db.selectFrom('recordings').selectAll().execute()

export const recordingById = (db: Queries, id: string): Promise<RecordingRow | undefined> =>
  db.selectFrom('recordings').selectAll().where('id', '=', id).executeTakeFirst()

export async function insertRecording(db: Queries, recording: RecordingRow): Promise<void> {
  await db.insertInto('recordings').values(recording).execute()
}

/** Deletes a recording and its recorded calls. */
export async function deleteRecording(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('recordings').where('id', '=', id).execute()
  await db.deleteFrom('recorded_calls').where('recording_id', '=', id).execute()
}

/** Stores a call if its recording still needs one; run it in a transaction. */
export async function insertRecordedCall(db: Queries, call: RecordedCallRow): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('recordings')
    .set((eb) => ({ calls_left: eb('calls_left', '-', 1) }))
    .where('id', '=', call.recording_id)
    .where('calls_left', '>', 0)
    .executeTakeFirst()
  if (Number(numUpdatedRows) === 0) return
  await db.insertInto('recorded_calls').values(call).execute()
}

export const oneRecordedCall = (db: Queries, id: string): Promise<RecordedCallRow | undefined> =>
  db.selectFrom('recorded_calls').selectAll().where('recording_id', '=', id).executeTakeFirst()

export async function deleteRecordedCall(db: Queries, requestId: string): Promise<void> {
  await db.deleteFrom('recorded_calls').where('request_id', '=', requestId).execute()
}
