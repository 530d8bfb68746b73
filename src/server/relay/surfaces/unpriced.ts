import type { Surface } from '../dialect/surface.ts'
import type { ErrorCode } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { unsupportedField } from '../canonical/reading.ts'
import { camelName } from '../gemini/names.ts'
import { memberBytes, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, recordOr, wordOf } from '../json/json-value.ts'

/**
 * Refuses what would make a call cost something that its price does not cover: a second model,
 * which the token was not asked about and nobody has priced, other tiers of the same model, and
 * conversations that are kept at the provider. (Converters refuse the same members by themselves:
 * no other dialect has them.)
 */
export function refuseUnpriced({ surface, body, model }: AskedCall): void {
  const { task, dialect } = surface
  if (PICTURES.has(task)) refuseAuthored(body)
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
  /** As the client named it. */
  model: string
}

const PRICED_BY_TOKENS: ReadonlySet<string> = new Set([
  'chat',
  'completions',
  'responses',
  'compact',
])

const PICTURES: ReadonlySet<string> = new Set(['images', 'imageEdits'])

/**
 * A picture in vectors is written by a model of its own, whose tokens stand apart. Source: OpenAI's
 * SDK, `svg` and `svg_usage`.
 */
function refuseAuthored(body: ScannedBody): void {
  const format: unknown = memberValue(body, 'output_format')
  if (wordOf(format).toLowerCase() !== 'svg') return
  throw refusal('relay_field_other_model', 'output_format')
}

/** Characters of a place that a refusal repeats. */
const PLACE_MAX = 128

const refusal = (code: ErrorCode, field: string): AppError =>
  new AppError(code, { field: field.slice(0, PLACE_MAX) })

/**
 * Values that cost what the price list says. Sources: the API references of OpenAI (`auto`,
 * `default`), Anthropic (`auto`, `standard_only`, `speed`, `inference_geo`), Gemini (`unspecified`,
 * `standard`) and Groq (`on_demand`).
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
 * A conversation that the provider holds is paid for again with every turn, belongs to whoever
 * knows its id, and lies with one account; nothing here knows any of it. Anthropic's SDK, whose
 * tool runner asks for one, sends the whole conversation instead when it hears this code. Source:
 * its `ThreadState`.
 */
function refuseThread(body: ScannedBody): void {
  if ((memberValue(body, 'thread') ?? null) === null) return
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  throw unsupportedField('thread').with({ details })
}

/** Searches of others, which Vertex has the operator's project pay for. Source: `Tool` of its SDK. */
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
  /** Undefined: it names none, and the provider chooses. */
  name: unknown
}

/** Models that a body names beside its own. */
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
 * Vertex' ways to have another model chosen, by name or by the question. Source: `GenerationConfig`
 * of its SDK.
 */
function modelsInConfig(body: ScannedBody, config: string): NamedModel[] {
  return Object.entries(recordOr(memberValue(body, config))).flatMap(([key, value]) => {
    const isChoice = /^(?:routing|model|modelSelection)Config$/.test(camelName(key))
    if (!isChoice || value === null) return []
    return [{ field: `${config}.${key}`, name: undefined }]
  })
}

/**
 * Who answers when the model does not: a list of names, or of objects with a `model`, or a word
 * that leaves the choice to the provider. Sources: Anthropic's `fallbacks`, OpenRouter's `models`.
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
 * OpenRouter's tools that run models, of its own choice where none is named; `fusion` is a plugin
 * too. Source: OpenRouter's documentation, "Server tools" and "Fusion router".
 */
const MODEL_TOOLS = /^openrouter:(?:advisor|fusion|image_generation|subagent)$/

/**
 * Tools that another model answers, as Anthropic's advisor. What a client calls a tool's own
 * argument stands deeper; OpenAI's picture tool has a price of its own, whichever model draws.
 */
function modelOfTool(sent: unknown, field: string): NamedModel[] {
  const tool = recordOr(sent)
  const { type } = tool
  if (typeof type === 'string' && MODEL_TOOLS.test(type)) return [{ field, name: undefined }]
  if (type === 'image_generation' || (tool.model ?? null) === null) return []
  return [{ field: `${field}.model`, name: tool.model }]
}

/** What must stand in tools that run a model, and in messages that define a tool. */
const TOOL_SIGNS = ['"model"', 'openrouter:']
const DEFINITION_SIGNS = ['tool_definition']
/** An escape that could hide them. */
const ESCAPE = '\\u00'

/** The elements of a list; none, and nothing parsed, where none of the signs stands in it. */
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
 * Anthropic lets tools be added in the middle of a conversation. Source: its SDK,
 * `BetaRequestToolAdditionBlock` and `BetaCompactionBlockParam`.
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
