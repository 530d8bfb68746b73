import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import type { App } from '../../app.ts'
import type { RecordingRow } from '../../db/schema.ts'
import {
  allRecordings,
  deleteRecording,
  insertRecordedCall,
  RECORDINGS_MESSAGE,
} from '../../recording/recording-store.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Egress } from '../../egress/egress.ts'
import type { Caller } from '../routing/caller.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import { CallRecording } from './call-recording.ts'
import { recordingFile } from './recording-file.ts'

/**
 * Records calls for `gatehouse record`. The command writes a row that defines which calls, how many
 * and until when. Every process on the database reads that row and stores the files of those calls
 * beside it, without their secrets, for the command to fetch.
 */
export interface Recorder {
  /** False while no recording is requested: the relay then does nothing else for it. */
  readonly isOn: boolean
  /** Begins to record a call if a row requests it. `channelId`: null before a channel is chosen. */
  begin(call: RecordedCall, wanted: WantedCall): void
  /** Returns an egress that records this attempt, or the same egress if it is not recorded. */
  tapped(egress: Egress, call: RecordedCall, attempt: RecordedAttempt): Egress
  /** Stores the recording of a finished call in the background. */
  end(recording: CallRecording): void
  close(): Promise<void>
}

/** The parts of a call that are recorded. */
interface RecordedCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly startedMs: number
  recording: CallRecording | null
}

interface WantedCall {
  caller: Caller
  channelId: number | null
  body: Buffer
}

interface RecordedAttempt {
  caller: Caller
  channel: RoutableChannel
  body: Buffer
  modelRequested: string
  modelSent: string
}

/** Interval of reading the table, for a command that runs beside a SQLite server. */
const INTERVAL_MS = 2000
/** Maximum concurrent recordings per process, which limits their memory. */
const RUNNING_MAX = 8
/** How long recordings stay stored after their command has died. */
const KEPT_SECONDS = 60

const deflate = promisify(deflateRaw)

export async function createRecorder({
  database,
  clock,
  trace,
}: Pick<App, 'database' | 'clock' | 'trace'>): Promise<Recorder> {
  let wanted: RecordingRow[] = await allRecordings(database.read)
  /** Row id of each running recording. */
  const running = new Map<CallRecording, string>()
  let refreshing: Promise<void> | null = null
  let storing = Promise.resolve()

  async function refresh(): Promise<void> {
    try {
      const rows = await allRecordings(database.read)
      const nowSeconds = clock.nowSeconds()
      for (const { id, expires_at } of rows) {
        if (expires_at + KEPT_SECONDS < nowSeconds) await deleteRecording(database.write, id)
      }
      const known = new Set(wanted.map(({ id }) => id))
      wanted = rows.filter((row) => row.calls_left > 0 && row.expires_at > nowSeconds)
      recorder.isOn = wanted.length > 0
      for (const row of wanted) {
        if (known.has(row.id)) continue
        const { channel_id: channelId, token_id: tokenId, calls_left: calls } = row
        trace.warn({ channelId, tokenId, calls }, 'calls are being recorded')
      }
    } catch (error) {
      trace.debug({ err: error }, 'recordings could not be read')
    } finally {
      refreshing = null
    }
  }
  const refreshSoon = (): void => void (refreshing ??= refresh())
  database.onAnnouncement((message) => {
    if (message === RECORDINGS_MESSAGE || message === 'everything') refreshSoon()
  })
  const timer = setInterval(refreshSoon, INTERVAL_MS)
  timer.unref()

  /**
   * Returns the row whose filter matches this call and whose maximum number of recordings is not
   * reached.
   */
  function wantedBy(tokenId: number, channelId: number | null): RecordingRow | undefined {
    if (running.size >= RUNNING_MAX) return undefined
    const nowSeconds = clock.nowSeconds()
    return wanted.find((row) => {
      const isTokens = row.token_id === 0 || row.token_id === tokenId
      const isChannels =
        channelId === null ? row.channel_id === 0 : [0, channelId].includes(row.channel_id)
      const under = [...running.values()].filter((id) => id === row.id).length
      return isTokens && isChannels && row.expires_at > nowSeconds && under < row.calls_left
    })
  }

  function begin(call: RecordedCall, { caller, channelId, body }: WantedCall): void {
    if (call.recording !== null) return
    const row = wantedBy(caller.token.id, channelId)
    if (row === undefined) return
    const { request } = call
    const times = {
      startedAt: new Date(clock.nowMs()),
      sinceStart: () => clock.monotonicMs() - call.startedMs,
    }
    const { method = '', url = '', headers } = request
    const asked = { method, address: url, headers }
    const recording = new CallRecording({ id: call.requestId, ...times }, asked, body)
    recording.noteCaller(caller)
    recording.tapResponse(call.response)
    running.set(recording, row.id)
    call.recording = recording
  }

  async function store(recording: CallRecording, recordingId: string): Promise<void> {
    const row = { request_id: recording.id, recording_id: recordingId }
    let file: Uint8Array = new Uint8Array()
    let reason = ''
    try {
      file = await deflate(JSON.stringify(await recordingFile(recording)))
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error)
    }
    try {
      await database.write
        .transaction()
        .execute((trx) => insertRecordedCall(trx, { ...row, file, reason }))
      await refresh()
    } catch (error) {
      trace.warn({ err: error, requestId: recording.id }, 'a recorded call was not stored')
    }
    running.delete(recording)
  }

  // A property instead of a getter, because every call reads it.
  const recorder: Recorder & { isOn: boolean } = {
    isOn: wanted.length > 0,
    begin,
    tapped(egress, call, { caller, channel, body, modelRequested, modelSent }) {
      begin(call, { caller, channelId: channel.id, body })
      const { recording } = call
      if (recording === null) return egress
      recording.modelRequested = modelRequested
      return recording.through(egress, channel, modelSent)
    },
    end(recording) {
      const recordingId = running.get(recording)
      if (recordingId === undefined) return
      storing = storing.then(() => store(recording, recordingId))
    },
    async close() {
      clearInterval(timer)
      await storing
      await refreshing
    },
  }
  return recorder
}
