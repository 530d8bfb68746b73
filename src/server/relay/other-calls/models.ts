import { capabilitiesOf } from '../../model/model-table.ts'
import { commaList } from '../../../contract/text.ts'
import { describeModels, knownModel, type ModelDescription } from '../../channel/model-catalogue.ts'
import { AppError } from '../../app-error.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { refusePin } from '../routing/caller.ts'
import { authenticate } from '../call/authenticate.ts'
import { sendError, sendJson } from '../call/respond/respond.ts'
import type { Call, RelayParts } from '../call/call.ts'
import { ownError } from '../protocols/dialect/relay-error.ts'

/**
 * Lists the models that a token may use, in the client's format: Gemini's by the path, Anthropic's
 * by the headers, otherwise OpenAI's.
 */

/**
 * Serves `GET /v1/models`: the token's allowed models, or else the models that the channels of the
 * owner's groups serve.
 */
export async function listModels(parts: RelayParts, call: Call): Promise<void> {
  call.dialect = dialectOf(call)
  const models = describeModels(await usableModels(parts, call))
  switch (call.dialect) {
    case 'openai':
      sendJson(call, { object: 'list', data: models })
      return
    case 'anthropic': {
      const data = models.map(anthropicModel)
      const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
      sendJson(call, { data, has_more: false, ...ends })
      return
    }
    case 'gemini':
      sendJson(call, { models: models.map(geminiModel) })
      return
    default:
      call.dialect satisfies never
  }
}

/**
 * Serves `GET /v1/models/:model`: a known model, or one that this token can use. In OpenAI's
 * format, other models return 200 too, for compatibility with One API.
 */
export async function retrieveModel(parts: RelayParts, call: Call, model: string): Promise<void> {
  call.dialect = dialectOf(call)
  const usable = await usableModels(parts, call)
  const known = knownModel(model)
  const described = known ?? (usable.includes(model) ? describeModels([model])[0] : undefined)
  if (described !== undefined) {
    sendJson(call, DESCRIBED[call.dialect](described))
    return
  }
  const name = model.slice(0, SHOWN_MAX)
  if (call.dialect !== 'openai') {
    sendError(call, ownError(new AppError('relay_model_unknown', { model: name }), call.language))
    return
  }
  sendJson(call, {
    error: {
      message: `The model '${name}' does not exist`,
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    },
  })
}

const SHOWN_MAX = 128

function dialectOf({ dialect, request, query }: Call): DialectName {
  const { headers } = request
  if (dialect !== 'openai') return dialect
  if (headers['anthropic-version'] !== undefined) return 'anthropic'
  const isGemini = headers['x-goog-api-key'] !== undefined || query.has('key')
  return isGemini ? 'gemini' : 'openai'
}

const anthropicModel = ({ id, created }: ModelDescription) => ({
  type: 'model',
  id,
  display_name: id,
  created_at: new Date(created * 1000).toISOString(),
})

const geminiModel = ({ id }: ModelDescription) => ({
  name: `models/${id}`,
  displayName: id,
  supportedGenerationMethods: methodsOf(id),
})

/** Returns the methods of this API for a model, derived from its name. */
function methodsOf(id: string): string[] {
  const { embeds, writes_text: writesText } = capabilitiesOf({ model: id })
  if (embeds === true) return ['embedContent', 'batchEmbedContents']
  return writesText === false ? [] : ['generateContent', 'streamGenerateContent', 'countTokens']
}

const DESCRIBED: Readonly<Record<DialectName, (model: ModelDescription) => unknown>> = {
  openai: (model) => model,
  anthropic: anthropicModel,
  gemini: geminiModel,
}

async function usableModels(parts: RelayParts, call: Call): Promise<string[]> {
  const { channels } = parts
  const caller = await authenticate(parts, call)
  refusePin(caller)
  const own = commaList(caller.token.models)
  if (own.length > 0) return own
  return (await channels.current()).models(caller.groups)
}
