import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { isAdmin } from '../../../contract/user.ts'
import { AppError } from '../../app-error.ts'
import type { Actor, CallContext } from '../../http/handler.ts'

/** Maximum number of concurrent exports per process. */
const EXPORTS_MAX = 4
/**
 * Maximum number of concurrent exports of ordinary users, so that one is left for administrators.
 */
const USERS_EXPORTS_MAX = 3
/** Interval at which a running export checks that its caller is still authorized. */
const CHECK_MS = 500

/** A file that is generated while it is sent, piece by piece. */
export interface ExportFile {
  name: string
  contentType: string
  pieces: AsyncIterable<string | Uint8Array>
}

/** Sends a file as the response, unless too many exports are running. */
export type FileSender = (
  call: Omit<CallContext, 'actor'> & { actor: Actor },
  /** Throws errors of the request before the response starts, while a status can still be sent. */
  begin: () => Promise<ExportFile>,
) => Promise<void>

/**
 * Creates the sender of all exports of a process. It allows one export per user and few at the same
 * time.
 */
export function createFileSender(): FileSender {
  /** Running exports by user id: the response, and whether the user is an administrator. */
  const busy = new Map<number, { response: ServerResponse; isAdmins: boolean }>()

  function isFull(actor: Actor): boolean {
    const ofUsers = [...busy.values()].filter(({ isAdmins }) => !isAdmins).length
    return busy.size >= EXPORTS_MAX || (!isAdmin(actor.role) && ofUsers >= USERS_EXPORTS_MAX)
  }

  return async ({ actor, request, reply, checkAgain }, begin) => {
    if (busy.has(actor.id)) throw new AppError('log_export_running')
    if (isFull(actor)) throw new AppError('log_export_busy')
    busy.set(actor.id, { response: reply.raw, isAdmins: isAdmin(actor.role) })
    const release = (): void => {
      if (busy.get(actor.id)?.response === reply.raw) busy.delete(actor.id)
    }
    // The client may also disconnect while the export begins.
    reply.raw.once('close', release)
    try {
      const { name, contentType, pieces } = await begin()
      // Compression would cost more than generating the rows.
      request.headers['x-no-compression'] = '1'
      reply
        .header('Content-Type', contentType)
        .header('Content-Disposition', `attachment; filename="${name}"`)
        .send(Readable.from(pieces))
      void breakOffWhenRefused(reply.raw, checkAgain)
    } catch (error) {
      release()
      throw error
    }
  }
}

/**
 * Closes the connection when the user is banned, demoted or signed out, so that no further rows are
 * sent and the client does not take the file for complete. Runs on a timer, because a client may
 * stop reading.
 */
async function breakOffWhenRefused(
  response: ServerResponse,
  checkAgain: () => Promise<void>,
): Promise<void> {
  for (;;) {
    await setTimeout(CHECK_MS, undefined, { ref: false })
    if (response.destroyed) return
    await checkAgain().catch(() => response.destroy())
  }
}
