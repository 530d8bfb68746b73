import { AppError } from '../../app-error.ts'
import type { Task } from '../dialect/provider.ts'
import { scanBody, type ScannedBody } from '../json/body-scan.ts'
import type { RelayCall, RelayParts } from './call.ts'
import { shown } from '../dialect/relay-error.ts'
import type { Caller } from '../routing/caller.ts'
import { readBody } from '../transport/request-body.ts'
import { isForm, readForm, type Form } from '../transport/form.ts'

/** A request as it came: JSON, or, for calls that bring files, a form. */
export interface ReadRequest {
  body: ScannedBody
  /** The form that the body's members were read from; null: it is the body. */
  form: Form | null
}

const FORM_TASKS: ReadonlySet<Task> = new Set(['imageEdits', 'transcriptions', 'translations'])

/** Parts of the budget that one token, and all tokens of one user, may hold once half is used. */
const TOKEN_SHARE = 0.25
const USER_SHARE = 0.5

/** Reads the body within the memory for all bodies; the call holds its part until it has ended. */
export async function readCallBody(
  { app, recorder, requestBytes }: RelayParts,
  call: RelayCall,
  caller: Caller,
): Promise<Buffer> {
  const { token, user } = caller
  call.requestLease = requestBytes.lease([
    { name: `token ${token.id}`, share: TOKEN_SHARE },
    { name: `user ${user.id}`, share: USER_SHARE },
  ])
  const bytesMax = app.config.MAX_BODY_MB * 1024 * 1024
  const room = { bytesMax, lease: call.requestLease }
  const body = await readBody(call.request, room, app.timeLimits.relayBodyMs)
  if (recorder.isOn) recorder.begin(call, { caller, channelId: null, body })
  return body
}

/** Throws `relay_body_invalid` and its like for what is neither, and `body_too_large`. */
export async function readRequest(
  parts: RelayParts,
  call: RelayCall,
  { caller, task }: { caller: Caller; task: Task },
): Promise<ReadRequest> {
  const bytes = await readCallBody(parts, call, caller)
  const contentType = call.request.headers['content-type'] ?? ''
  const isSentAsForm = isForm(contentType)
  if (FORM_TASKS.has(task) && isSentAsForm) {
    const form = readForm(bytes, contentType)
    return { body: form.fields, form }
  }
  const scanned = scanBody(bytes)
  if (scanned.ok) return { body: scanned, form: null }
  if (isSentAsForm) throw new AppError('form_unexpected')
  const detail = scanned.key === '' ? scanned.reason : `${scanned.reason} “${shown(scanned.key)}”`
  throw new AppError('relay_body_invalid', { detail, offset: scanned.offset })
}
