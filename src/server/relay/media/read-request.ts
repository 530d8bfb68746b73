import { AppError } from '../../app-error.ts'
import type { Task } from '../dialect/provider.ts'
import { scanBody, type ScannedBody } from '../json/body-scan.ts'
import type { RelayCall, RelayParts } from '../relay-call.ts'
import { shown } from '../dialect/relay-error.ts'
import { readBody } from '../transport/request-body.ts'
import { isForm, readForm, type Form } from './form.ts'

/** A request as it came: JSON, or, for calls that bring files, a form. */
export interface ReadRequest {
  body: ScannedBody
  /** The form that the body's members were read from; null: it is the body. */
  form: Form | null
}

const FORM_TASKS: ReadonlySet<Task> = new Set(['imageEdits', 'transcriptions', 'translations'])

/** Throws `relay_body_invalid` and its like for what is neither, and `body_too_large`. */
export async function readRequest(
  { app, bodyRoom }: RelayParts,
  call: RelayCall,
  task: Task,
): Promise<ReadRequest> {
  const bytes = await readBody(call, bodyRoom, app.timeLimits.relayBodyMs)
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
