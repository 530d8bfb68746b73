import { createParser } from 'eventsource-parser'
import type { DialectName } from '../relay/protocols/canonical/chat-request.ts'
import type { RelayClient } from './relay-setup.ts'

/**
 * The same requests in the form of each dialect, and their responses in a comparable form,
 * independent of the relay's code.
 */
export interface Wish {
  words?: string
  system?: string
  /** Names of tools, each with one text argument `city`. */
  tools?: string[]
  choice?: 'auto' | 'required' | 'none'
  /** Results of the tool calls, in order. */
  results?: string[]
  image?: string
  /** Maximum number of reasoning tokens. */
  thinking?: number
  stop?: string[]
  maxTokens?: number
  /** Schema of a JSON response. */
  schema?: Json
  temperature?: number
}

export interface Said {
  text: string
  thought: string
  calls: { name: string; args: unknown }[]
  finish: 'stop' | 'length' | 'tools' | 'filtered' | 'none'
  prompt: number
  completion: number
  /** Signature of a thought or a tool call, as received. */
  seal: string
}

export type Json = Record<string, unknown>

export interface Speaker {
  path(model: string, isStream: boolean): string
  headers(client: Pick<RelayClient, 'key'>): Record<string, string>
  body(model: string, wish: Wish, isStream: boolean): Json
  whole(answer: Json): Said
  /** Content of a stream, and whether its client considers it complete. */
  streamed(text: string): Said & { isComplete: boolean; error: string }
  /** Parses an error of this dialect; throws for anything else. */
  error(answer: Json): { message: string; type: string }
}

export const NOTHING: Said = {
  text: '',
  thought: '',
  calls: [],
  finish: 'none',
  prompt: 0,
  completion: 0,
  seal: '',
}

export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
export const json = (value: unknown): Json => (value ?? {}) as Json
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

export const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
export const ARGS = { city: 'forty-two' }
const callId = (dialect: string, index: number): string => `${dialect}_call_${index}`

/** Returns the events of a stream with their names, like an event source. */
export function events(body: string): { name: string; data: string }[] {
  const found: { name: string; data: string }[] = []
  createParser({
    onEvent: ({ event = '', data }) => found.push({ name: event, data }),
    // Without the byte order mark, which a decoder removes; a final CR may be half of a line end.
  }).feed(`${body.replace(/^\ufeff/, '')}\n`)
  return found
}

const openai: Speaker = {
  path: () => '/v1/chat/completions',
  headers: ({ key }) => ({ authorization: `Bearer sk-${key}` }),
  body: (model, wish, isStream) => {
    const { system, words = 'What is the answer?', tools, results, image, schema } = wish
    const content = image
      ? [
          { type: 'text', text: words },
          { type: 'image_url', image_url: { url: image } },
        ]
      : words
    const calls = (tools ?? []).map((name, index) => ({
      id: callId('openai', index),
      type: 'function',
      function: { name, arguments: JSON.stringify(ARGS) },
    }))
    return {
      model,
      messages: [
        ...(system ? [{ role: 'system', content: system }] : []),
        { role: 'user', content },
        ...(results ? [{ role: 'assistant', content: null, tool_calls: calls }] : []),
        ...(results ?? []).map((result, index) => ({
          role: 'tool',
          tool_call_id: callId('openai', index),
          content: result,
        })),
      ],
      ...(tools && {
        tools: tools.map((name) => ({ type: 'function', function: { name, parameters: CITY } })),
      }),
      ...(wish.choice && { tool_choice: wish.choice }),
      ...(wish.thinking && { thinking: { type: 'enabled', budget_tokens: wish.thinking } }),
      ...(wish.stop && { stop: wish.stop }),
      ...(wish.maxTokens && { max_tokens: wish.maxTokens }),
      ...(wish.temperature && { temperature: wish.temperature }),
      ...(schema && {
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
      }),
      ...(isStream && { stream: true, stream_options: { include_usage: true } }),
    }
  },
  whole(answer) {
    const choice = json(list(answer.choices)[0])
    const message = json(choice.message)
    return {
      text: text(message.content),
      thought: text(message.reasoning_content),
      calls: list(message.tool_calls).map((call) => ({
        name: text(json(call.function).name),
        args: JSON.parse(text(json(call.function).arguments)),
      })),
      finish: openaiFinish(choice.finish_reason),
      prompt: count(json(answer.usage).prompt_tokens),
      completion: count(json(answer.usage).completion_tokens),
      seal: openaiSeal(message),
    }
  },
  streamed(body) {
    const said = { ...NOTHING, calls: [] as Said['calls'] }
    const given: string[] = []
    let [isComplete, error] = [false, '']
    for (const { data } of events(body)) {
      if (data === '[DONE]') {
        isComplete = true
        continue
      }
      const chunk = JSON.parse(data) as Json
      error += text(json(chunk.error).message)
      said.prompt = count(json(chunk.usage).prompt_tokens) || said.prompt
      said.completion = count(json(chunk.usage).completion_tokens) || said.completion
      const choice = json(list(chunk.choices)[0])
      const delta = json(choice.delta)
      said.text += text(delta.content)
      said.thought += text(delta.reasoning_content)
      said.seal += openaiSeal(delta)
      for (const call of list(delta.tool_calls)) {
        const { name, arguments: args } = json(call.function)
        const index = count(call.index)
        if (name !== undefined) said.calls[index] = { name: text(name), args: null }
        given[index] = (given[index] ?? '') + text(args)
      }
      if (choice.finish_reason) said.finish = openaiFinish(choice.finish_reason)
    }
    said.calls.forEach((call, index) => (call.args = JSON.parse(given[index] ?? '')))
    return { ...said, isComplete, error }
  },
  error: (answer) => {
    const { message, type } = json(answer.error)
    return { message: text(message), type: text(type) }
  },
}

const openaiFinish = (word: unknown): Said['finish'] =>
  ({ stop: 'stop', length: 'length', tool_calls: 'tools', content_filter: 'filtered' } as const)[
    text(word) as 'stop'
  ] ?? 'none'

function openaiSeal(message: Json): string {
  const sealed = list(message.reasoning_details).map(({ signature }) => text(signature))
  const calls = list(message.tool_calls).map((call) =>
    text(json(json(call.extra_content).google).thought_signature),
  )
  return [...sealed, ...calls].join('')
}

const anthropic: Speaker = {
  path: () => '/v1/messages',
  headers: ({ key }) => ({ 'x-api-key': `sk-${key}`, 'anthropic-version': '2023-06-01' }),
  body: (model, wish, isStream) => {
    const { system, words = 'What is the answer?', tools, results, image, schema, choice } = wish
    const source = image && { type: 'base64', media_type: 'image/png', data: PIXEL }
    const calls = (tools ?? []).map((name, index) => ({
      type: 'tool_use',
      id: callId('toolu', index),
      name,
      input: ARGS,
    }))
    const answers = (results ?? []).map((result, index) => ({
      type: 'tool_result',
      tool_use_id: callId('toolu', index),
      content: result,
    }))
    return {
      model,
      max_tokens: wish.maxTokens ?? 4096,
      ...(system && { system }),
      messages: [
        {
          role: 'user',
          content: source
            ? [
                { type: 'text', text: words },
                { type: 'image', source },
              ]
            : words,
        },
        ...(results ? [{ role: 'assistant', content: calls }] : []),
        ...(results ? [{ role: 'user', content: answers }] : []),
      ],
      ...(tools && { tools: tools.map((name) => ({ name, input_schema: CITY })) }),
      ...(choice && { tool_choice: { type: choice === 'required' ? 'any' : choice } }),
      ...(wish.thinking && { thinking: { type: 'enabled', budget_tokens: wish.thinking } }),
      ...(wish.stop && { stop_sequences: wish.stop }),
      ...(wish.temperature && { temperature: wish.temperature }),
      ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
      ...(isStream && { stream: true }),
    }
  },
  whole(message) {
    const blocks = list(message.content)
    const of = (type: string) => blocks.filter((block) => block.type === type)
    return {
      text: of('text')
        .map((block) => text(block.text))
        .join(''),
      thought: of('thinking')
        .map((block) => text(block.thinking))
        .join(''),
      calls: of('tool_use').map(({ name, input }) => ({ name: text(name), args: input })),
      finish: anthropicFinish(message.stop_reason),
      ...anthropicUsage(json(message.usage)),
      seal: of('thinking')
        .map((block) => text(block.signature))
        .join(''),
    }
  },
  streamed(body) {
    const said = { ...NOTHING, calls: [] as Said['calls'] }
    const blocks: Json[] = []
    let usage: Json = {}
    let given = ''
    let [isComplete, error] = [false, '']
    for (const { name, data } of events(body)) {
      const event = JSON.parse(data) as Json
      if (name !== event.type) throw new Error(`event ${name} holds ${text(event.type)}`)
      const delta = json(event.delta)
      if (name === 'message_start') {
        const message = json(event.message)
        usage = json(message.usage)
        // It contains complete programmatic tool calls.
        for (const block of list(message.content)) {
          said.calls.push({ name: text(block.name), args: block.input })
          said.finish = anthropicFinish(message.stop_reason)
        }
      }
      if (name === 'content_block_start') {
        blocks.push(json(event.content_block))
        if (event.index !== blocks.length - 1) throw new Error('a block out of order')
        given = ''
      }
      if (name === 'content_block_delta') {
        said.text += text(delta.text)
        said.thought += text(delta.thinking)
        said.seal += text(delta.signature)
        given += text(delta.partial_json)
      }
      if (name === 'content_block_stop') {
        const block = blocks.at(-1)
        const args = given === '' ? {} : (JSON.parse(given) as Json)
        if (block?.type === 'tool_use') said.calls.push({ name: text(block.name), args })
      }
      if (name === 'message_delta') {
        said.finish = anthropicFinish(delta.stop_reason)
        usage = { ...usage, ...json(event.usage) }
      }
      if (name === 'error') error = text(json(event.error).message)
      if (name === 'message_stop') isComplete = true
    }
    return { ...said, ...anthropicUsage(usage), isComplete, error }
  },
  error: (answer) => {
    if (answer.type !== 'error') throw new Error('no error of this dialect')
    const { message, type } = json(answer.error)
    return { message: text(message), type: text(type) }
  },
}

const anthropicFinish = (word: unknown): Said['finish'] =>
  (
    {
      end_turn: 'stop',
      stop_sequence: 'stop',
      max_tokens: 'length',
      tool_use: 'tools',
      refusal: 'filtered',
    } as const
  )[text(word) as 'end_turn'] ?? 'none'

const anthropicUsage = (usage: Json) => ({
  prompt:
    count(usage.input_tokens) +
    count(usage.cache_read_input_tokens) +
    count(usage.cache_creation_input_tokens),
  completion: count(usage.output_tokens),
})

const gemini: Speaker = {
  path: (model, isStream) =>
    `/v1beta/models/${encodeURIComponent(model)}:` +
    (isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'),
  headers: ({ key }) => ({ 'x-goog-api-key': `sk-${key}` }),
  body: (_model, wish) => {
    const { system, words = 'What is the answer?', tools, results, image, schema, choice } = wish
    const parts = [
      { text: words },
      ...(image ? [{ inlineData: { mimeType: 'image/png', data: PIXEL } }] : []),
    ]
    const calls = (tools ?? []).map((name) => ({ functionCall: { name, args: ARGS } }))
    const answers = (results ?? []).map((result, index) => ({
      functionResponse: { name: tools?.[index], response: { result } },
    }))
    const mode = { auto: 'AUTO', required: 'ANY', none: 'NONE' } as const
    const config = {
      ...(wish.thinking && {
        thinkingConfig: { thinkingBudget: wish.thinking, includeThoughts: true },
      }),
      ...(wish.stop && { stopSequences: wish.stop }),
      ...(wish.maxTokens && { maxOutputTokens: wish.maxTokens }),
      ...(wish.temperature && { temperature: wish.temperature }),
      ...(schema && { responseMimeType: 'application/json', responseJsonSchema: schema }),
    }
    return {
      ...(system && { systemInstruction: { parts: [{ text: system }] } }),
      contents: [
        { role: 'user', parts },
        ...(results ? [{ role: 'model', parts: calls }] : []),
        ...(results ? [{ role: 'user', parts: answers }] : []),
      ],
      ...(tools && {
        tools: [
          {
            functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: CITY })),
          },
        ],
      }),
      ...(choice && { toolConfig: { functionCallingConfig: { mode: mode[choice] } } }),
      ...(Object.keys(config).length > 0 && { generationConfig: config }),
    }
  },
  whole: (answer) => geminiSaid([answer]),
  streamed(body) {
    const chunks = events(body).map(({ data }) => JSON.parse(data) as Json)
    const said = geminiSaid(chunks)
    const error = chunks.map((chunk) => text(json(chunk.error).message)).join('')
    return { ...said, isComplete: said.finish !== 'none', error }
  },
  error: (answer) => {
    const { message, status, code } = json(answer.error)
    if (typeof code !== 'number') throw new Error('no error of this dialect')
    return { message: text(message), type: text(status) }
  },
}

function geminiSaid(answers: Json[]): Said {
  const said = { ...NOTHING, calls: [] as Said['calls'] }
  for (const answer of answers) {
    const candidate = json(list(answer.candidates)[0])
    for (const part of list(json(candidate.content).parts)) {
      if (part.thought === true) said.thought += text(part.text)
      else said.text += text(part.text)
      said.seal += text(part.thoughtSignature)
      if (part.functionCall) {
        const { name, args } = json(part.functionCall)
        said.calls.push({ name: text(name), args })
      }
    }
    const word = text(candidate.finishReason)
    const plain = said.calls.length > 0 ? 'tools' : 'stop'
    const finishes = { STOP: plain, MAX_TOKENS: 'length', SAFETY: 'filtered' } as const
    said.finish = finishes[word as 'STOP'] ?? said.finish
    const usage = json(answer.usageMetadata)
    said.prompt = count(usage.promptTokenCount) || said.prompt
    said.completion =
      count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount) || said.completion
  }
  return said
}

export const speakers: Readonly<Record<DialectName, Speaker>> = { openai, anthropic, gemini }
