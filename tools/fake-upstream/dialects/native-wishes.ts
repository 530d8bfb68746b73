import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { produceChat, type Produced } from '../produced-text.ts'

/** The content of a request in another dialect, in OpenAI's terms. */
export type Wishes = {
  tools: { name: unknown; parameters: Json }[]
  /** Name of the tool that must be called, `required`, `none`, or null. */
  choice: string | null
  /** Text of the last message, if it is the user's. */
  lastWords: string
  /** Schema of the response; null for free text. */
  schema: Json | null
  wantsJson: boolean
  maxTokens: unknown
  stops: string[]
}

export type NativeProduced = Produced & { stopSequence: string | null }

/** Produces the model's output for the request; the texts in `stops` end it. */
export function produceNative(call: Call, wishes: Wishes): NativeProduced {
  const { tools, choice, schema, wantsJson, maxTokens, lastWords, stops } = wishes
  const isWord = choice === null || choice === 'required' || choice === 'none'
  const format = schema === null ? { type: 'json_object' } : jsonSchema(schema)
  const produced = produceChat({
    ...call,
    json: {
      tools: tools.map(({ name, parameters }) => ({ function: { name, parameters } })),
      tool_choice: isWord ? choice : { function: { name: choice } },
      messages: [{ role: 'user', content: lastWords + (wantsJson ? ' json' : '') }],
      ...(schema !== null || wantsJson ? { response_format: format } : {}),
      max_tokens: maxTokens,
    },
  })
  return { ...produced, ...cutAtStop(produced, stops) }
}

const jsonSchema = (schema: Json): Json => ({ type: 'json_schema', json_schema: { schema } })

function cutAtStop({ pieces }: Produced, stops: string[]) {
  const text = pieces.join('')
  const places = stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
  const [first] = places
  if (first === undefined) return { pieces, stopSequence: null }
  return { pieces: [text.slice(0, first.at)], stopSequence: first.stop }
}

export const textsOf = (value: unknown): string[] =>
  listOf(value).flatMap((item) => textOf(item) ?? [])

/** Text of a content: a string, or the texts of its parts. */
export function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(objectOf(part).text) ?? '')
    .join(' ')
}
