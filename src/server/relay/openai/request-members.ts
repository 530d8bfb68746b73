import {
  EFFORTS,
  type CacheMark,
  type MediaSource,
  type OutputFormat,
  type Thinking,
  type Tool,
  type ToolChoice,
} from '../canonical/chat-request.ts'
import { invalidField, unsupportedField, type Members } from '../canonical/reading.ts'

/**
 * What OpenAI's two APIs for talking spell alike, though not always in the same place. Source:
 * OpenAI's API reference, "Create chat completion" and "Create a model response".
 */

/** A function that the model may call. */
export function readFunction(described: Members, cache: CacheMark | null): Tool {
  const read: Tool = {
    name: described.textOrThrow('name'),
    description: described.text('description'),
    schema: described.record('parameters'),
    isStrict: described.flag('strict'),
    cache,
  }
  described.done()
  return read
}

/** `namedIn`: where a choice names its function; null: it is no choice of a function. */
export function readToolChoice(
  request: Members,
  namedIn: (choice: Members) => Members | null,
): ToolChoice | null {
  const value = request.any('tool_choice')
  if (value === null) return null
  if (value === 'auto' || value === 'none' || value === 'required') return { kind: value }
  const choice = request.object('tool_choice')
  const named = choice === null ? null : namedIn(choice)
  if (named === null) throw unsupportedField('tool_choice')
  return { kind: 'tool', name: named.textOrThrow('name') }
}

/** An answer that follows a schema. */
export const readSchema = (described: Members): OutputFormat => ({
  kind: 'schema',
  name: described.text('name') ?? 'answer',
  description: described.text('description'),
  schema: described.record('schema') ?? {},
  isStrict: described.flag('strict'),
})

/** How much the model is to think, by a word that stood there. */
export function thinkingOfEffort(word: string, at: string): Thinking {
  if (word === 'none') return { kind: 'off' }
  const effort = EFFORTS.find((name) => name === word)
  if (effort === undefined) throw invalidField(at)
  return { kind: 'effort', effort }
}

/** The recording of an `input_audio` part. */
export function readRecording(part: Members): MediaSource {
  const audio = part.object('input_audio')
  if (audio === null) throw invalidField(part.at)
  const mimeType = `audio/${audio.text('format') ?? 'wav'}`
  return { from: 'data', mimeType, data: audio.textOrThrow('data') }
}
