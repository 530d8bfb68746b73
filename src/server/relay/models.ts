import { commaList } from '../../contract/channel.ts'
import { describeModels, knownModel } from '../channel/model-catalogue.ts'
import { sendJson, type RelayCall, type RelayParts } from './relay-call.ts'

/** `GET /v1/models`: what the token may name, else what the channels of the owner's groups serve. */
export async function listModels(parts: RelayParts, call: RelayCall): Promise<void> {
  sendJson(call, { object: 'list', data: describeModels(await usableModels(parts, call)) })
}

/**
 * `GET /v1/models/:model`: a model we know, or one that this token can use. The wire answers 200
 * for others too.
 */
export async function retrieveModel(
  parts: RelayParts,
  call: RelayCall,
  model: string,
): Promise<void> {
  const usable = await usableModels(parts, call)
  const known = knownModel(model)
  const described = known ?? (usable.includes(model) ? describeModels([model])[0] : undefined)
  if (described !== undefined) {
    sendJson(call, described)
    return
  }
  sendJson(call, {
    error: {
      message: `The model '${model.slice(0, 128)}' does not exist`,
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    },
  })
}

async function usableModels(
  { callers, channels, app }: RelayParts,
  call: RelayCall,
): Promise<string[]> {
  const { authorization } = call.request.headers
  const caller = await callers.authenticate(authorization, () => app.addressOf(call.request))
  const own = commaList(caller.token.models)
  if (own.length > 0) return own
  return (await channels.current()).models(caller.groups)
}
