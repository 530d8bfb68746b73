import { AppError } from '../../app-error.ts'
import { allowsModel } from '../../token/token.ts'
import { fieldRefusal } from '../dialect/fields.ts'
import type { Task } from '../dialect/provider.ts'
import { shown } from '../dialect/relay-error.ts'
import type { RequestFigures, Surface, SurfaceCall, SurfaceRequest } from '../dialect/surface.ts'
import { bareModel, modelInBody } from '../gemini/figures.ts'
import { memberValue, scanBody, type ScannedBody } from '../json/body-scan.ts'
import { isEmpty, readFigures } from '../surfaces/figures.ts'
import { refuseUnpriced } from '../surfaces/unpriced.ts'
import { isForm, readForm } from '../transport/form.ts'
import { readBody } from '../transport/request-body.ts'
import type { Call, RelayParts } from './call.ts'

/** Reads what the client asks for. */

export interface CallInput extends SurfaceRequest, Pick<SurfaceCall, 'surface' | 'framing'> {
  /** Where the address says whether it is a stream; null: the body does. */
  isStream: boolean | null
}

const FORM_TASKS: ReadonlySet<Task> = new Set(['imageEdits', 'transcriptions', 'translations'])

/** Parts of the budget that one token, and all tokens of one user, may hold once half is used. */
const TOKEN_SHARE = 0.25
const USER_SHARE = 0.5

/**
 * Reads the body and the model. Throws `relay_body_invalid`, `body_too_large` and their like, and
 * `token_model_not_allowed`.
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

/** Reads the body within the memory for all bodies; the call holds its part until it has ended. */
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

/** The members of the body; `form`: the form that they were read from, null if it came as JSON. */
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

/** The model as the client named it, in the address or the body; '' if it named none. */
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
 * The model that is meant where none is named: the first that the caller may use and has a channel
 * for, else the usual one. '': one must be named, and the call finds no channel.
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
 * Reads what decides about the price and the shape of the answer. Throws the refusal of a member
 * that is missing or wrong, and of what no price covers.
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
