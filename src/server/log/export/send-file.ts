import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { isAdmin } from '../../../contract/user.ts'
import { AppError } from '../../app-error.ts'
import type { Actor, CallContext } from '../../http/handler.ts'

/** Exports that one process makes at once. */
const EXPORTS_MAX = 4
/** As many of them may be ordinary users': an administrator need not wait for theirs. */
const USERS_EXPORTS_MAX = 3
/** How often an export under way asks whether its caller would still be let in. */
const CHECK_MS = 500

/** A file that is made while it is sent, piece by piece. */
export interface ExportFile {
  name: string
  contentType: string
  pieces: AsyncIterable<string | Uint8Array>
}

/** Sends a file in answer to a call, when its turn has come. */
export type FileSender = (
  call: Omit<CallContext, 'actor'> & { actor: Actor },
  /** Throws what the call is refused with: later there is no status left to say it with. */
  begin: () => Promise<ExportFile>,
) => Promise<void>

/** Of all exports of a process, whatever they are of: one for each user, and few at once. */
export function createFileSender(): FileSender {
  /** Who has an export under way: which response it is, and whether an administrator takes it. */
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
    // Whoever leaves while the export begins has left, too.
    reply.raw.once('close', release)
    try {
      const { name, contentType, pieces } = await begin()
      // Packing would cost more than the rows themselves.
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
 * Whoever is banned, demoted or signed out gets no further row: the connection breaks, so that what
 * has arrived is not taken for the whole. By the clock, as a client may stop reading.
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
