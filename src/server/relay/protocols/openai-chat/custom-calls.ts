import { inputOf, PlainInputs } from '../canonical/custom-tools.ts'
import type { ClientDialect, StreamPiece } from '../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  present,
  recordOr,
  wordOf,
  type JsonRecord,
} from '../../json/json-value.ts'

/**
 * Calls of custom tools, which take plain text, in the chat API. Other dialects call them as
 * functions. Source: OpenAI's API reference, "Create chat completion",
 * `ChatCompletionMessageCustomToolCall`.
 */

/** Names of the custom tools that a request declares. */
export const customToolsIn = ({ tools }: JsonRecord): ReadonlySet<string> =>
  new Set(
    arrayOr(tools)
      .map(recordOr)
      .filter(({ type }) => type === 'custom')
      .map(({ custom }) => wordOf(recordOr(custom).name)),
  )

/** Client dialect for one call that writes the calls of these tools as custom tool calls. */
export function clientWithCustomTools(
  client: ClientDialect,
  names: ReadonlySet<string>,
): ClientDialect {
  return {
    ...client,
    writeAnswer(answer, head) {
      const written = client.writeAnswer(answer, head)
      return withCalls(written, (call) =>
        names.has(toolOf(call)) ? asCustom(call, inputOf) : call,
      )
    },
    streamWriter(head) {
      const writer = client.streamWriter(head)
      const inputs = new PlainInputs((name) => names.has(name))
      const begun = new Set<string>()
      return {
        write: (event) =>
          inputs
            .of(event)
            .flatMap((plain) =>
              plain.kind === 'toolCall' || plain.kind === 'toolArguments'
                ? writer.write(plain).map((piece) => customPiece(piece, names, begun))
                : writer.write(plain),
            ),
        end: (usage) => writer.end(usage),
      }
    },
  }
}

/** `begun`: the custom calls of the stream so far, by choice and index. */
function customPiece(
  piece: StreamPiece,
  names: ReadonlySet<string>,
  begun: Set<string>,
): StreamPiece {
  const chunk = withCalls(recordOr(parseJson(piece.data)), (call, choice) => {
    const place = `${choice}/${String(call.index)}`
    if (names.has(toolOf(call))) begun.add(place)
    return begun.has(place) ? asCustom(call, (input) => input) : call
  })
  return { ...piece, data: JSON.stringify(chunk) }
}

const toolOf = ({ function: called }: JsonRecord): string => wordOf(recordOr(called).name)

/** Returns the call of a function, or a piece of it, as that of a custom tool. */
function asCustom(
  { type, function: called, ...call }: JsonRecord,
  inputIn: (args: string) => string,
): JsonRecord {
  const { name, arguments: args } = recordOr(called)
  const custom = { ...present({ name }), input: inputIn(wordOf(args)) }
  return { ...call, ...(type === undefined ? {} : { type: 'custom' }), custom }
}

/** Returns an answer or a chunk with its tool calls changed. */
const withCalls = (
  answer: JsonRecord,
  change: (call: JsonRecord, choice: number) => JsonRecord,
): JsonRecord => ({
  ...answer,
  choices: arrayOr(answer.choices)
    .map(recordOr)
    .map((choice) => {
      const name = choice.message === undefined ? 'delta' : 'message'
      const said = recordOr(choice[name])
      if (!Array.isArray(said.tool_calls)) return choice
      const calls = said.tool_calls.filter(isRecord)
      return {
        ...choice,
        [name]: { ...said, tool_calls: calls.map((call) => change(call, Number(choice.index))) },
      }
    }),
})
