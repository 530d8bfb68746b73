import { AppError } from '../../app-error.ts'
import { allowsModel } from '../../token/token.ts'
import {
  fieldRefusal,
  type RequestFigures,
  type Surface,
  type SurfaceCall,
  type SurfaceRequest,
} from '../protocols/dialect/surface.ts'
import type { Task } from '../protocols/dialect/provider.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import { bareModel, modelInBody } from '../protocols/gemini/names.ts'
import { memberValue, scanBody, type ScannedBody } from '../json/body-scan.ts'
import { isEmpty, readFigures } from '../surfaces/figures.ts'
import { refuseUnpriced } from '../surfaces/unpriced.ts'
import { isForm, readForm } from '../transport/form.ts'
import { readBody } from '../transport/request-body.ts'
import type { Call, RelayParts } from './call.ts'

/** Reads the client's request. */

export interface CallInput extends SurfaceRequest, Pick<SurfaceCall, 'surface' | 'framing'> {
  /** Whether the address requests a stream; null if the body decides. */
  isStream: boolean | null
}

const FORM_TASKS: ReadonlySet<Task> = new Set(['imageEdits', 'transcriptions', 'translations'])

/** Shares of the budget that one token, and all tokens of one user, may hold once half is used. */
const TOKEN_SHARE = 0.25
const USER_SHARE = 0.5

/**
 * Reads the body and the model. Throws `relay_body_invalid`, `body_too_large` and other body
 * errors, and `token_model_not_allowed`.
 */
export async function readRequest(
  parts: RelayParts,
  call: Call,
  { surface, framing, isStream, model: inAddress }: SurfaceCall,
): Promise<void> {
  const { token } = call.caller
  const bytes = await readCallBody(parts, call)
  const { body, form } = readMembers(bytes, {
    contentType: call.request.headers['content-type'] ?? '',
    task: surface.task,
  })
  call.capture = parts.captures.begin(token.id, body.bytes)
  const model = requestedModel(body, inAddress) || (await defaultModel(parts, call, surface))
  if (model !== '' && !allowsModel(token, model)) {
    throw new AppError('token_model_not_allowed', { model: shown(model) })
  }
  call.input = { surface, framing, isStream, body, form, model }
}

/**
 * Reads the body within the memory budget for all bodies. The call holds its share until it ends.
 */
export async function readCallBody(
  { app, recorder, requestBytes }: RelayParts,
  call: Call,
): Promise<Buffer> {
  const { caller } = call
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

/**
 * Returns the members of the body. `form` is the form they were read from, null if JSON was sent.
 */
function readMembers(
  bytes: Buffer,
  { contentType, task }: { contentType: string; task: Task },
): Pick<CallInput, 'body' | 'form'> {
  if (FORM_TASKS.has(task) && isForm(contentType)) {
    const form = readForm(bytes, contentType)
    return { body: form.fields, form }
  }
  const scanned = scanBody(bytes)
  if (scanned.ok) return { body: scanned, form: null }
  if (isForm(contentType)) throw new AppError('form_unexpected')
  const detail = scanned.key === '' ? scanned.reason : `${scanned.reason} “${shown(scanned.key)}”`
  throw new AppError('relay_body_invalid', { detail, offset: scanned.offset })
}

/** Returns the model that the client named in the address or the body; '' if missing. */
function requestedModel(body: ScannedBody, inAddress: string | null): string {
  if (inAddress !== null) {
    const repeated = modelInBody(body)
    const isOther = repeated !== null && repeated !== bareModel(inAddress)
    if (isOther) throw new AppError('relay_field_invalid', { field: 'model' })
    return bareModel(inAddress)
  }
  const value = memberValue(body, 'model') ?? ''
  if (typeof value !== 'string') throw new AppError('relay_field_invalid', { field: 'model' })
  return value
}

/**
 * Returns the model for a request that names none: the first that the caller may use and that has a
 * channel, else the default. Returns '' if a model is required; no channel matches that.
 */
async function defaultModel(
  { channels }: RelayParts,
  { caller }: Call,
  { defaultModel: usual, olderDefaults = [] }: Surface,
): Promise<string> {
  if (usual === null || olderDefaults.length === 0) return usual ?? ''
  const { token, groups } = caller
  const map = await channels.current()
  const isServed = (model: string): boolean =>
    allowsModel(token, model) && groups.some((group) => map.tiers(group, model).length > 0)
  return [usual, ...olderDefaults].find(isServed) ?? usual
}

/**
 * Reads the members that determine the price and the response format. Throws the refusal of a
 * missing or invalid member, and of features that no price covers.
 */
export function readCallFigures(call: Call): void {
  const { surface, body } = call.input
  const other = isEmpty(body, surface.required) ? surface.insteadOf?.(body) : null
  if (other) call.input = { ...call.input, surface: other }
  const { input } = call
  const figures = figuresOf(input)
  if ('field' in figures) throw fieldRefusal(figures, input.surface)
  refuseUnpriced(input)
  call.figures = figures
}

function figuresOf(input: CallInput): RequestFigures | { field: string; isMissing: boolean } {
  const { surface, isStream } = input
  const figures = surface.figures?.(input) ?? readFigures(input.body, surface)
  return isStream === null || 'field' in figures ? figures : { ...figures, isStream }
}
