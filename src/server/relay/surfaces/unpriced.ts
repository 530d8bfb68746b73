import type { Surface } from '../protocols/dialect/surface.ts'
import type { ErrorCode } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { unsupportedField } from '../protocols/canonical/reading.ts'
import { camelName } from '../protocols/gemini/names.ts'
import { memberBytes, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, recordOr, wordOf } from '../json/json-value.ts'

/**
 * Rejects members that make a call cost something its price does not cover: a second model, which
 * the token's restrictions and the prices do not cover, other service tiers of the same model, and
 * conversations that are stored at the provider. (Converters reject the same members themselves: no
 * other dialect has them.)
 */
export function refuseUnpriced({ surface, body, model }: AskedCall): void {
  const { task, dialect } = surface
  if (IMAGES.has(task)) refuseAuthored(body)
  if (!PRICED_BY_TOKENS.has(task)) return
  refuseOtherTiers(body)
  if (dialect === 'anthropic') refuseThread(body)
  if (dialect === 'gemini') refuseForeignSearch(body)
  for (const { field, name } of namedModels(body, dialect)) {
    if (name !== model) throw refusal('relay_field_other_model', field)
  }
}

interface AskedCall {
  surface: Pick<Surface, 'task' | 'dialect'>
  body: ScannedBody
  /** The model name in the client's request. */
  model: string
}

const PRICED_BY_TOKENS: ReadonlySet<string> = new Set([
  'chat',
  'completions',
  'responses',
  'compact',
])

const IMAGES: ReadonlySet<string> = new Set(['images', 'imageEdits'])

/**
 * Rejects vector images, which a separate model writes; its tokens are reported separately. Source:
 * OpenAI's SDK, `svg` and `svg_usage`.
 */
function refuseAuthored(body: ScannedBody): void {
  const format: unknown = memberValue(body, 'output_format')
  if (wordOf(format).toLowerCase() !== 'svg') return
  throw refusal('relay_field_other_model', 'output_format')
}

/** Maximum characters of a member's path in an error. */
const PLACE_MAX = 128

const refusal = (code: ErrorCode, field: string): AppError =>
  new AppError(code, { field: field.slice(0, PLACE_MAX) })

/**
 * Values that cost the list price. Sources: the API references of OpenAI (`auto`, `default`),
 * Anthropic (`auto`, `standard_only`, `speed`, `inference_geo`), Gemini (`unspecified`, `standard`)
 * and Groq (`on_demand`).
 */
const ORDINARY_TIERS = ['auto', 'default', 'standard', 'standard_only', 'on_demand', 'unspecified']
const ORDINARY: Readonly<Record<string, readonly unknown[]>> = {
  service_tier: ORDINARY_TIERS,
  serviceTier: ORDINARY_TIERS,
  speed: ['standard'],
  inference_geo: ['global'],
}

function refuseOtherTiers(body: ScannedBody): void {
  for (const [field, values] of Object.entries(ORDINARY)) {
    const value = memberValue(body, field) ?? null
    const word = typeof value === 'string' ? value.toLowerCase() : value
    if (value !== null && !values.includes(word)) throw refusal('relay_field_other_price', field)
  }
}

/**
 * Rejects a conversation that the provider stores. It is charged again with every turn, is open to
 * every user with its id, and exists in one account only; this server tracks none of this.
 * Anthropic's SDK, whose tool runner requests one, sends the whole conversation instead if it
 * receives this code. Source: its `ThreadState`.
 */
function refuseThread(body: ScannedBody): void {
  if ((memberValue(body, 'thread') ?? null) === null) return
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  throw unsupportedField('thread').with({ details })
}

/**
 * Third-party searches, which Vertex charges to the operator's project. Source: `Tool` of its SDK.
 */
const FOREIGN_SEARCHES: ReadonlySet<string> = new Set(['exaAiSearch', 'parallelAiSearch'])

function refuseForeignSearch(body: ScannedBody): void {
  const sent: unknown = memberValue(body, 'tools')
  const tools: readonly unknown[] = Array.isArray(sent) ? sent : [sent]
  for (const [index, tool] of tools.entries()) {
    const name = Object.keys(recordOr(tool)).find((key) => FOREIGN_SEARCHES.has(camelName(key)))
    if (name !== undefined) throw refusal('relay_field_other_price', `tools[${index}].${name}`)
  }
}

interface NamedModel {
  field: string
  /** The model; undefined if none is named and the provider chooses. */
  name: unknown
}

/** Returns the models that a body names in addition to its own. */
function namedModels(body: ScannedBody, dialect: Surface['dialect']): NamedModel[] {
  if (dialect === 'gemini') return GEMINI_CONFIGS.flatMap((name) => modelsInConfig(body, name))
  const substitutes = ['fallbacks', 'models'].flatMap((field) => substitutesIn(body, field))
  const tools = parsedWhere(body, 'tools', TOOL_SIGNS).flatMap((tool, index) =>
    modelOfTool(tool, `tools[${index}]`),
  )
  const plugins = arrayOr(memberValue(body, 'plugins')).flatMap((plugin, index) =>
    recordOr(plugin).id === 'fusion' ? [{ field: `plugins[${index}]`, name: undefined }] : [],
  )
  const later = dialect === 'anthropic' ? toolsInMessages(body) : []
  return [...substitutes, ...tools, ...plugins, ...later]
}

const GEMINI_CONFIGS = ['generationConfig', 'generation_config']

/**
 * Returns the models in Vertex' routing options, which choose a model by name or by the prompt.
 * Source: `GenerationConfig` of its SDK.
 */
function modelsInConfig(body: ScannedBody, config: string): NamedModel[] {
  return Object.entries(recordOr(memberValue(body, config))).flatMap(([key, value]) => {
    const isChoice = /^(?:routing|model|modelSelection)Config$/.test(camelName(key))
    if (!isChoice || value === null) return []
    return [{ field: `${config}.${key}`, name: undefined }]
  })
}

/**
 * Returns the fallback models: a list of names, or of objects with a `model`, or a keyword that
 * leaves the choice to the provider. Sources: Anthropic's `fallbacks`, OpenRouter's `models`.
 */
function substitutesIn(body: ScannedBody, field: string): NamedModel[] {
  const value = memberValue(body, field) ?? null
  if (value === null) return []
  if (!Array.isArray(value)) return [{ field, name: undefined }]
  return value.map((sent: unknown) => ({
    field,
    name: typeof sent === 'string' ? sent : recordOr(sent).model,
  }))
}

/**
 * OpenRouter's tools that run models, of its own choice if none is named; `fusion` is a plugin too.
 * Source: OpenRouter's documentation, "Server tools" and "Fusion router".
 */
const MODEL_TOOLS = /^openrouter:(?:advisor|fusion|image_generation|subagent)$/

/**
 * Returns the models of tools that another model executes, such as Anthropic's advisor. A client's
 * own tool parameter named `model` is nested deeper; OpenAI's image tool has its own price, for
 * every model that generates the image.
 */
function modelOfTool(sent: unknown, field: string): NamedModel[] {
  const tool = recordOr(sent)
  const { type } = tool
  if (typeof type === 'string' && MODEL_TOOLS.test(type)) return [{ field, name: undefined }]
  if (type === 'image_generation' || (tool.model ?? null) === null) return []
  return [{ field: `${field}.model`, name: tool.model }]
}

/** Bytes that every tool that runs a model contains, and every message that defines a tool. */
const TOOL_SIGNS = ['"model"', 'openrouter:']
const DEFINITION_SIGNS = ['tool_definition']
/** A JSON escape by which these bytes could be written differently. */
const ESCAPE = '\\u00'

/**
 * Returns the elements of a list; empty, without parsing, if the list contains none of the signs.
 */
function parsedWhere(
  body: ScannedBody,
  name: string,
  signs: readonly string[],
): readonly unknown[] {
  const bytes = memberBytes(body, name)
  const isSuspect = bytes !== null && [...signs, ESCAPE].some((sign) => bytes.includes(sign))
  return isSuspect ? arrayOr(memberValue(body, name)) : []
}

/**
 * Returns tools that are added in the middle of a conversation, which Anthropic allows. Source: its
 * SDK, `BetaRequestToolAdditionBlock` and `BetaCompactionBlockParam`.
 */
function toolsInMessages(body: ScannedBody): NamedModel[] {
  return parsedWhere(body, 'messages', DEFINITION_SIGNS).flatMap((message, at) =>
    arrayOr(recordOr(message).content).flatMap((sent, place) => {
      const block = recordOr(sent)
      const field = `messages[${at}].content[${place}]`
      return [block, ...arrayOr(block.tool_changes)].flatMap((change) =>
        modelOfTool(recordOr(recordOr(change).tool).definition, `${field}.tool.definition`),
      )
    }),
  )
}
