import type { ClientDialect, StreamPiece } from '../dialect/dialect.ts'
import { isFunctionCall } from './read-answer.ts'
import { arrayOr, isRecord, parseJson, recordOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Converts OpenAI's former function calls, the predecessor of tools that older clients still use:
 * one call per turn, without ids. Source: OpenAI's API reference, "Create chat completion",
 * `functions`, `function_call` and the role `function`, all deprecated.
 */

/** Whether the request declares functions in the former format. */
export const declaresFunctions = ({ functions }: JsonRecord): boolean =>
  arrayOr(functions).length > 0

/** Returns the request with tools instead of functions. */
export function withTools(body: JsonRecord): JsonRecord {
  const { functions, function_call: choice, ...rest } = body
  const messages = { messages: withCalls(body.messages) }
  if (!declaresFunctions(body)) return { ...body, ...messages }
  return {
    parallel_tool_calls: false,
    tool_choice: isRecord(choice) ? { type: 'function', function: choice } : choice,
    ...rest,
    ...messages,
    tools: [...arrayOr(functions).map(asFunction), ...arrayOr(body.tools)],
  }
}

const asFunction = (described: unknown): JsonRecord => ({ type: 'function', function: described })

/** Joins each result with the call before it. */
function withCalls(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages
  let open: string | null = null
  return messages.map((message: unknown, index) => {
    const { role, function_call: call, name, ...rest } = recordOr(message)
    if (role === 'assistant' && isRecord(call)) {
      if (!isFunctionCall(call)) return { role, ...rest }
      open = `call_${index}`
      return { role, ...rest, tool_calls: [{ id: open, ...asFunction(call) }] }
    }
    if (role !== 'function' || open === null) return message
    return { role: 'tool', tool_call_id: open, name, ...rest }
  })
}

/** Client dialect for one call that writes tool calls in the former format. */
export function clientWithFunctions(client: ClientDialect): ClientDialect {
  return {
    ...client,
    writeAnswer: (answer, head) => withoutTools(client.writeAnswer(answer, head)),
    streamWriter(head) {
      const writer = client.streamWriter(head)
      return {
        write: (event) => writer.write(event).map(pieceWithoutTools),
        end: (usage) => writer.end(usage),
      }
    },
  }
}

function pieceWithoutTools(piece: StreamPiece): StreamPiece {
  const chunk = parseJson(piece.data)
  return isRecord(chunk) ? { ...piece, data: JSON.stringify(withoutTools(chunk)) } : piece
}

const withoutTools = (answer: JsonRecord): JsonRecord => ({
  ...answer,
  choices: arrayOr(answer.choices).map((choice) => {
    const { message, delta, finish_reason: finish, ...rest } = recordOr(choice)
    return {
      ...rest,
      ...(message === undefined ? { delta: withCall(delta) } : { message: withCall(message) }),
      finish_reason: finish === 'tool_calls' ? 'function_call' : finish,
    }
  }),
})

function withCall(said: unknown): JsonRecord {
  const { tool_calls: calls, ...rest } = recordOr(said)
  const [call] = arrayOr(calls)
  return call === undefined ? rest : { ...rest, function_call: recordOr(call).function }
}
