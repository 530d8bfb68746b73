/**
 * Sends the requests of Open WebUI and LobeChat: web-chat.mjs open-webui|lobechat PROMPT
 *
 * Both are web servers without a command line, so their requests are reproduced from their sources:
 * Open WebUI 0.12.4 (`utils/middleware.py`, `utils/misc.py`, `routers/openai.py`), LobeChat
 * 1.132.11 (`packages/model-runtime`, `openaiCompatibleFactory`).
 */
import { findKey, findWord } from './functions.mjs'

const [kind, prompt] = process.argv.slice(2)
const { GATEHOUSE_URL: url, GATEHOUSE_KEY: key, MODEL: model } = process.env
const ROUNDS_MAX = 5

const text = { type: 'string' }
const functions = [
  {
    name: 'find_key',
    description: 'Returns the line of a file that names the key.',
    parameters: { type: 'object', properties: { file: text }, required: ['file'] },
  },
  {
    name: 'find_word',
    description: 'Returns the line of a file that begins with the key.',
    parameters: {
      type: 'object',
      properties: { file: text, key: text },
      required: ['file', 'key'],
    },
  },
]
const run = {
  find_key: ({ file }) => findKey(file),
  find_word: ({ file, key: wanted }) => findWord(file, wanted),
}

const programs = {
  'open-webui': {
    nameOf: (name) => name,
    accept: undefined,
    body: (messages, tools) => ({
      stream: true,
      model,
      messages,
      stream_options: { include_usage: true },
      tools,
    }),
    result: (call, content) => ({ role: 'tool', tool_call_id: call.id, content }),
  },
  lobechat: {
    nameOf: (name) => `gatehouse____${name}`,
    accept: '*/*',
    body: (messages, tools) => ({
      messages,
      model,
      stream: true,
      frequency_penalty: 0,
      presence_penalty: 0,
      temperature: 1,
      top_p: 1,
      tools,
      user: 'user_1',
      stream_options: { include_usage: true },
    }),
    result: (call, content) => ({
      content,
      role: 'tool',
      name: call.function.name,
      tool_call_id: call.id,
    }),
  },
}

const program = programs[kind]
const tools = functions.map((declared) => ({
  type: 'function',
  function: { ...declared, name: program.nameOf(declared.name) },
}))
const messages = [{ role: 'user', content: prompt }]
for (let round = 0; round < ROUNDS_MAX; round++) {
  const { content, calls } = await ask()
  process.stdout.write(content)
  if (calls.length === 0) break
  messages.push({ role: 'assistant', content, tool_calls: calls })
  for (const call of calls) {
    const name = call.function.name.split('____').at(-1)
    messages.push(program.result(call, run[name](JSON.parse(call.function.arguments))))
  }
}

/** Sends a request; returns the text and the tool calls of the stream. */
async function ask() {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(program.accept === undefined ? {} : { accept: program.accept }),
    },
    body: JSON.stringify(program.body(messages, tools)),
  })
  if (!response.ok) throw new Error(await response.text())
  const made = { content: '', calls: [] }
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
    const delta = JSON.parse(line.slice('data: '.length)).choices[0]?.delta ?? {}
    made.content += delta.content ?? ''
    for (const part of delta.tool_calls ?? []) addCall(made.calls, part)
  }
  return made
}

function addCall(calls, { index, id, function: part }) {
  const call = (calls[index] ??= { id, type: 'function', function: { name: '', arguments: '' } })
  call.function.name += part?.name ?? ''
  call.function.arguments += part?.arguments ?? ''
}
