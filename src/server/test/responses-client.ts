import {
  ARGS,
  CITY,
  count,
  events,
  json,
  list,
  NOTHING,
  text,
  type Json,
  type Said,
  type Speaker,
} from './dialect-clients.ts'

/** A client of OpenAI's Responses API; see dialect-clients.ts. */

const callId = (index: number): string => `call_${index}`

export const responsesSpeaker: Speaker = {
  path: () => '/v1/responses',
  headers: ({ key }) => ({ authorization: `Bearer sk-${key}` }),
  body(model, wish, isStream) {
    const { system, words = 'What is the answer?', tools, results, image, schema } = wish
    const content = image
      ? [
          { type: 'input_text', text: words },
          { type: 'input_image', image_url: image },
        ]
      : words
    const calls = (tools ?? []).map((name, index) => ({
      type: 'function_call',
      call_id: callId(index),
      name,
      arguments: JSON.stringify(ARGS),
    }))
    const outputs = (results ?? []).map((output, index) => ({
      type: 'function_call_output',
      call_id: callId(index),
      output,
    }))
    return {
      model,
      ...(system && { instructions: system }),
      input: [{ role: 'user', content }, ...(results ? calls : []), ...outputs],
      ...(tools && {
        tools: tools.map((name) => ({ type: 'function', name, parameters: CITY, strict: false })),
      }),
      ...(wish.choice && { tool_choice: wish.choice }),
      ...(wish.thinking && { reasoning: { effort: 'medium' } }),
      ...(wish.maxTokens && { max_output_tokens: wish.maxTokens }),
      ...(wish.temperature && { temperature: wish.temperature }),
      ...(schema && { text: { format: { type: 'json_schema', name: 'answer', schema } } }),
      ...(isStream && { stream: true }),
    }
  },
  whole: (response) => said(response),
  streamed(body) {
    const state: Streamed = { items: [], text: '', thought: '', given: [] }
    let last: Json | null = null
    let error = ''
    for (const [sequence, { name, data }] of events(body).entries()) {
      const event = JSON.parse(data) as Json
      if (name !== event.type) throw new Error(`event ${name} holds ${text(event.type)}`)
      if (name === 'error') {
        error = text(event.message)
        continue
      }
      if (event.sequence_number !== sequence) throw new Error('an event out of order')
      follow(state, event)
      if (/^response\.(completed|incomplete)$/.test(name)) last = json(event.response)
    }
    if (last === null) {
      return { ...NOTHING, text: state.text, thought: state.thought, isComplete: false, error }
    }
    const whole = said(last)
    // The pieces must equal the content of the last event.
    const pieces = { text: state.text, thought: state.thought, items: state.items }
    const told = { text: whole.text, thought: whole.thought, items: list(last.output) }
    if (JSON.stringify(pieces) !== JSON.stringify(told)) throw new Error('the pieces differ')
    return { ...whole, isComplete: true, error }
  },
  error: (answer) => {
    const { message, type } = json(answer.error)
    return { message: text(message), type: text(type) }
  },
}

interface Streamed {
  items: Json[]
  text: string
  thought: string
  given: string[]
}

function follow(state: Streamed, event: Json): void {
  const index = count(event.output_index)
  const delta = text(event.delta)
  switch (event.type) {
    case 'response.output_item.added':
      if (index !== state.items.length) throw new Error('an item out of order')
      state.items.push({})
      state.given[index] = ''
      break
    case 'response.output_text.delta':
      state.text += delta
      break
    case 'response.reasoning_summary_text.delta':
      state.thought += delta
      break
    case 'response.function_call_arguments.delta':
      state.given[index] += delta
      break
    case 'response.output_item.done': {
      const item = json(event.item)
      if (item.type === 'function_call' && item.arguments !== state.given[index]) {
        throw new Error('arguments differ')
      }
      state.items[index] = item
      break
    }
    default:
      break
  }
}

function said(response: Json): Said {
  const items = list(response.output)
  const of = (type: string) => items.filter((item) => item.type === type)
  const calls = of('function_call').map((call) => ({
    name: text(call.name),
    args: JSON.parse(text(call.arguments)),
  }))
  const reason = text(json(response.incomplete_details).reason)
  const cut = reason === 'max_output_tokens' ? 'length' : 'filtered'
  const plain = calls.length > 0 ? 'tools' : 'stop'
  return {
    text: of('message')
      .flatMap((message) => list(message.content).map((part) => text(part.text)))
      .join(''),
    thought: of('reasoning')
      .flatMap((item) => list(item.summary).map((part) => text(part.text)))
      .join(''),
    calls,
    finish: response.status === 'completed' ? plain : cut,
    prompt: count(json(response.usage).input_tokens),
    completion: count(json(response.usage).output_tokens),
    seal: of('reasoning')
      .map((item) => text(item.encrypted_content))
      .join(''),
  }
}
