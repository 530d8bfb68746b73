import { createHash } from 'node:crypto'
import type { Call, Json } from './call.ts'
import type { ToolCall } from './produced-text.ts'

/**
 * A model that works on a task in two steps and then answers, for client programs that run their
 * own tools: the second step needs the result of the first, the answer needs both.
 *
 * The program's files contain a line `first: key-<8 hex digits>` for the first step, and a line
 * `key-<the same digits> word-<8 hex digits>` for the second. The progress of a conversation is
 * derived from its body alone, in every dialect.
 */
export type Script = {
  steps: [first: ScriptStep, second: ScriptStep]
  /** The answer. `{key}` and `{word}` are replaced with the results, here and in the steps. */
  answer: string
}

/** A call of one of the client's tools, or a text for clients without tools. */
export type ScriptStep = { tool: string; args: Json } | { text: string }

const KEY = /first: (key-[0-9a-f]{8})/
const PAIR = /(key-[0-9a-f]{8}) (word-[0-9a-f]{8})/g

export type ScriptedTurn = { text: string } | { toolCall: ToolCall }

/**
 * Next turn of the script. Null for requests that do not declare the step's tool, which client
 * programs send for other purposes, such as a title of the conversation.
 */
export function scriptedTurn(script: Script, call: Call, tools: Json[]): ScriptedTurn | null {
  const body = call.bytes.toString()
  const key = KEY.exec(body)?.[1]
  const pairs = new Map(Array.from(body.matchAll(PAIR), ([, name, word]) => [name, word]))
  const word = pairs.get(key)
  const filled = (text: string) =>
    text.replaceAll('{key}', key ?? '').replaceAll('{word}', word ?? '')
  if (word !== undefined) return { text: filled(script.answer) }
  const index = key === undefined ? 0 : 1
  const step = script.steps[index]
  if ('text' in step) return { text: filled(step.text) }
  if (!tools.some(({ name }) => name === step.tool)) return null
  const args = filled(JSON.stringify(step.args))
  const called = { name: step.tool, arguments: args }
  return { toolCall: { id: `call_step_${index + 1}`, type: 'function', function: called } }
}

/**
 * Id of a response: fixed, except in a script, where client programs distinguish responses by id.
 */
export function answerId(call: Call, prefix: string): string {
  if (!call.script) return `${prefix}fixed`
  return prefix + createHash('sha256').update(call.bytes).digest('hex').slice(0, 24)
}
