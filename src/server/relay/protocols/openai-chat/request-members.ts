import {
  allowedTools,
  EFFORTS,
  type CacheMark,
  type ChatRequest,
  type MediaSource,
  type OutputFormat,
  type Thinking,
  type Tool,
} from '../canonical/chat-request.ts'
import { invalidField, unsupportedField, type Members } from '../canonical/reading.ts'

/**
 * Members that OpenAI's two text APIs spell alike, though not always in the same place. Source:
 * OpenAI's API reference, "Create chat completion" and "Create a model response".
 */

/** A function that the model may call. */
export function readFunction(described: Members, cache: CacheMark | null): Tool {
  // Deferred loading and allowed callers are ignored: the model gets every tool immediately, and
  // calls it directly.
  described.ignore('defer_loading', 'allowed_callers')
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

/**
 * Reads which tools may be called, and whether one must be. `namedIn`: object with the name of a
 * chosen function; null if the choice names none.
 */
export function readToolChoice(
  request: Members,
  tools: readonly Tool[],
  namedIn: (choice: Members) => Members | null,
): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const value = request.any('tool_choice')
  if (value === null) return { tools, toolChoice: null }
  if (value === 'auto' || value === 'none' || value === 'required') {
    return { tools, toolChoice: { kind: value } }
  }
  // Mistral's value.
  if (value === 'any') return { tools, toolChoice: { kind: 'required' } }
  const choice = request.object('tool_choice')
  if (choice?.text('type') === 'allowed_tools') {
    return readAllowed(choice.object('allowed_tools') ?? choice, tools, namedIn)
  }
  const named = choice === null ? null : namedIn(choice)
  if (named === null) throw unsupportedField('tool_choice')
  return { tools, toolChoice: { kind: 'tool', name: named.textOrThrow('name') } }
}

function readAllowed(
  allowed: Members,
  tools: readonly Tool[],
  namedIn: (choice: Members) => Members | null,
): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const names = allowed.objects('tools').map((tool) => {
    const named = namedIn(tool)
    if (named === null) throw unsupportedField(tool.at)
    return named.textOrThrow('name')
  })
  const kind = allowed.text('mode') ?? 'auto'
  if (kind !== 'auto' && kind !== 'required') throw invalidField(allowed.place('mode'))
  return { tools: allowedTools(tools, names, allowed.place('tools')), toolChoice: { kind } }
}

/** Reads an output format with a schema. */
export function readSchema(described: Members): OutputFormat {
  const read: OutputFormat = {
    kind: 'schema',
    name: described.text('name') ?? 'answer',
    description: described.text('description'),
    schema: described.record('schema') ?? {},
    isStrict: described.flag('strict'),
  }
  described.done()
  return read
}

/** Reads a reasoning effort; null for the model's default. */
export function thinkingOfEffort(word: string, at: string): Thinking | null {
  if (word === 'none') return { kind: 'off' }
  // Groq's value.
  if (word === 'default') return null
  const effort = EFFORTS.find((name) => name === word)
  if (effort === undefined) throw invalidField(at)
  return { kind: 'effort', effort }
}

/** Reads the recording of an `input_audio` part. */
export function readRecording(part: Members): MediaSource {
  const audio = part.object('input_audio')
  if (audio === null) throw invalidField(part.at)
  const mimeType = `audio/${audio.text('format') ?? 'wav'}`
  const data = audio.textOrThrow('data')
  audio.done()
  return { from: 'data', mimeType, data }
}
