import { describe, expect, test } from 'vitest'
import {
  aModel,
  aRoute,
  post,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../../../test/relay-setup.ts'
import { responsesSpeaker } from '../../../../test/responses-client.ts'
import { useRelay } from '../../../../test/use-relay.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../../json/json-value.ts'
import { readResponsesRequest } from '../read-request.ts'

/** Tools that the client runs, and calls of them, as sent by Codex 0.159. */

const path = '/v1/responses'
const TASK = { type: 'object', properties: { message: { type: 'string' } } }
const SEALED = { type: 'object', properties: { message: { type: 'string', encrypted: true } } }
const SPAWN = { type: 'function', name: 'spawn_agent', description: 'Spawns.', parameters: SEALED }
const WAIT = { type: 'function', name: 'wait_agent', description: 'Waits.', parameters: TASK }
const AGENTS = {
  type: 'namespace',
  name: 'multi_agent_v1',
  description: 'Agents.',
  tools: [SPAWN, WAIT],
}
const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/s' }
const PATCH = { type: 'custom', name: 'apply_patch', description: 'Patches.', format: GRAMMAR }
const SEARCH = {
  type: 'tool_search',
  execution: 'client',
  description: 'Looks for tools.',
  parameters: { type: 'object', properties: { query: { type: 'string' } } },
}
const FOUND = {
  type: 'namespace',
  name: 'mcp__mail__',
  description: '',
  tools: [{ type: 'function', name: 'send', parameters: TASK, defer_loading: true }],
}
const TOOLS = [{ type: 'function', name: 'exec', parameters: TASK }, AGENTS, PATCH, SEARCH]

const user = (text: string) => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
})

const HISTORY = [
  user('Find what sends mail, and send it.'),
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
  {
    type: 'tool_search_call',
    call_id: 'c1',
    status: 'completed',
    execution: 'client',
    arguments: { query: 'mail' },
  },
  {
    type: 'tool_search_output',
    call_id: 'c1',
    status: 'completed',
    execution: 'client',
    tools: [FOUND, AGENTS],
  },
  {
    type: 'function_call',
    call_id: 'c2',
    namespace: 'mcp__mail__',
    name: 'send',
    arguments: '{"message":"x"}',
  },
  { type: 'function_call_output', call_id: 'c2', output: 'sent' },
  { type: 'custom_tool_call', call_id: 'c3', name: 'apply_patch', input: '*** Begin "Patch"' },
  { type: 'custom_tool_call_output', call_id: 'c3', name: 'apply_patch', output: 'done' },
  {
    type: 'agent_message',
    author: '/root/one',
    recipient: '/root',
    content: [{ type: 'input_text', text: 'Ready.' }],
  },
]

const read = (members: object) => readResponsesRequest({ input: 'x', ...members })
const namesOf = (members: object) => read(members).tools.map(({ name }) => name)

describe('the model receives functions', () => {
  test('for tools of namespaces, custom tools and client tool search', () => {
    const { tools } = read({ tools: TOOLS })
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['exec', null],
      ['multi_agent_v1__spawn_agent', 'Agents.\n\nSpawns.'],
      ['multi_agent_v1__wait_agent', 'Waits.'],
      ['apply_patch', 'Patches.\n\n"input" follows this lark grammar:\n\nstart: /.+/s'],
      ['tool_search', 'Looks for tools.'],
    ])
    expect(tools.map(({ schema }) => Object.keys(recordOr(schema?.properties)))).toEqual([
      ['message'],
      ['message'],
      ['message'],
      ['input'],
      ['query'],
    ])
    // Only OpenAI encrypts messages between agents.
    expect(tools[1]?.schema).toEqual(TASK)
  })

  test('also for tools that are added in the conversation, each once', () => {
    const tools = [{ type: 'namespace', name: 'functions', tools: [PATCH] }]
    const late = { type: 'additional_tools', role: 'developer', tools }
    expect(namesOf({ tools: TOOLS, input: [late, ...HISTORY] })).toEqual([
      'exec',
      'multi_agent_v1__spawn_agent',
      'multi_agent_v1__wait_agent',
      'apply_patch',
      'tool_search',
      'functions__apply_patch',
      'mcp__mail__send',
    ])
  })

  test('with unique names that every provider accepts', () => {
    const inner = (name: string) => ({ type: 'function', name, parameters: TASK })
    const names = namesOf({
      tools: [
        { type: 'namespace', name: 'a', tools: [inner('b__c')] },
        { type: 'namespace', name: 'a__b', tools: [inner('c')] },
        { type: 'namespace', name: 'mcp.long', tools: [inner('x'.repeat(80))] },
        SEARCH,
        inner('a__b__c'),
        inner('tool_search'),
      ],
    })
    expect(new Set(names).size).toBe(6)
    expect(names.slice(4)).toEqual(['a__b__c', 'tool_search'].toSorted())
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/)
  })
})

test('earlier calls and found tools are read', () => {
  const { messages } = read({ tools: TOOLS, input: HISTORY })
  expect(messages).toMatchObject([
    { role: 'user' },
    { parts: [{ id: 'c1', name: 'tool_search', argumentsJson: '{"query":"mail"}' }] },
    { parts: [{ callId: 'c1', parts: [{ text: expect.stringContaining('mcp__mail__send') }] }] },
    { parts: [{ id: 'c2', name: 'mcp__mail__send', argumentsJson: '{"message":"x"}' }] },
    { parts: [{ callId: 'c2', parts: [{ text: 'sent' }] }] },
    {
      parts: [
        { id: 'c3', name: 'apply_patch', argumentsJson: '{"input":"*** Begin \\"Patch\\""}' },
      ],
    },
    { parts: [{ callId: 'c3', name: null, parts: [{ text: 'done' }] }] },
    { role: 'user', parts: [{ text: 'Ready.' }] },
  ])
})

test.each([
  [{ type: 'function', namespace: 'multi_agent_v1', name: 'wait_agent' }, 'wait_agent'],
  [{ type: 'custom', name: 'apply_patch' }, 'apply_patch'],
  [{ type: 'tool_search' }, 'tool_search'],
])('a tool is chosen by its own name: %j', (tool_choice, name) => {
  const named = expect.stringContaining(name)
  expect(read({ tools: TOOLS, tool_choice }).toolChoice).toEqual({ kind: 'tool', name: named })
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [tool_choice] }
  expect(read({ tools: TOOLS, tool_choice: allowed }).tools).toMatchObject([{ name: named }])
})

describe('over HTTP', () => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })

  const CALLS = [
    { type: 'function_call', name: 'exec', arguments: '{"message":"forty-two"}' },
    {
      type: 'function_call',
      namespace: 'multi_agent_v1',
      name: 'spawn_agent',
      encrypted_function_args: [],
      arguments: '{"message":"forty-two"}',
    },
    { type: 'custom_tool_call', name: 'apply_patch', input: 'forty-two' },
    { type: 'tool_search_call', execution: 'client', arguments: { query: 'forty-two' } },
  ]
  /** Returns the calls without their ids and without Gemini's signatures. */
  const calls = (items: readonly unknown[]) =>
    items
      .map(recordOr)
      .filter(({ type }) => type !== 'reasoning')
      .map(({ id: _id, call_id: _callId, status, ...rest }) => {
        expect(status).toBe('completed')
        return rest
      })
  const ask = {
    instructions: 'You are Codex.',
    input: [user('exec multi_agent_v1__spawn_agent apply_patch tool_search')],
    tools: TOOLS,
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: null,
    store: false,
    include: [],
    prompt_cache_key: 'a-conversation',
  }

  test.each([14, 24, 28, 36])(
    'calls come back as what was declared: channel type %i',
    async (type) => {
      const model = aModel()
      await aRoute(setup, model, { type })
      const whole = await post(setup, client, { model, ...ask }, { path })
      const output = arrayOr(whole.json.output)
      expect(calls(output)).toEqual(CALLS)

      const text = (await stream(setup, client, { model, ...ask }, { path })).text()
      expect(responsesSpeaker.streamed(text)).toMatchObject({ isComplete: true, error: '' })
      const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) =>
        recordOr(JSON.parse(data)),
      )
      const of = (name: string): JsonRecord[] =>
        events.filter((event) => event.type === `response.${name}`)
      expect(calls(of('output_item.done').map(({ item }) => item))).toEqual(CALLS)
      expect(of('output_item.added').at(-1)?.item).toMatchObject({ arguments: {} })
      const deltas = of('custom_tool_call_input.delta').map(({ delta }) => delta)
      expect(deltas.join('')).toBe('forty-two')
      expect(of('custom_tool_call_input.done')).toMatchObject([{ input: 'forty-two' }])

      // The client's next request: it sends the results and repeats the conversation.
      const answers = output
        .map(recordOr)
        .filter(({ type: called }) => called !== 'reasoning')
        .map(({ type: called, call_id }) =>
          called === 'tool_search_call'
            ? { type: 'tool_search_output', call_id, execution: 'client', tools: [FOUND] }
            : { type: `${String(called)}_output`, call_id, output: 'done' },
        )
      const input = [...ask.input, ...output, ...answers, user('mcp__mail__send')]
      const next = await post(setup, client, { model, ...ask, input }, { path })
      expect(calls(arrayOr(next.json.output))).toMatchObject([
        { type: 'function_call', namespace: 'mcp__mail__', name: 'send' },
      ])
    },
  )

  /** Additional members that Codex sends to every provider named OpenAI. */
  const access_programs = { cyber: 'standard' }
  const noted = (items: readonly object[]) =>
    items.map((item, index) =>
      index % 2 === 0
        ? { ...item, internal_chat_message_metadata_passthrough: { turn_id: '1' } }
        : item,
    )

  test.each([
    [1, true],
    [3, false],
    [50, false],
  ])(
    'a server of the API itself is sent what came: type %i, with notes %s',
    async (type, isNoted) => {
      const model = aModel()
      await aRoute(setup, model, { type })
      setup.upstream.seen()
      const plain = { model, ...ask, input: HISTORY }
      const body = { ...plain, access_programs, input: noted(HISTORY) }
      const answers = [
        await post(setup, client, body, { path }),
        await post(setup, client, body, { path: `${path}/compact` }),
        await post(setup, client, plain, { path }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      const sent = isNoted ? body : plain
      const bytes = setup.upstream.seen().map((call) => call.bytes.toString())
      expect(bytes).toEqual([sent, sent, plain].map((one) => JSON.stringify(one)))
    },
  )

  test.each([14, 24, 36])(
    'Codex’s own members are not sent to a channel of type %i',
    async (type) => {
      const model = aModel()
      await aRoute(setup, model, { type })
      const body = { model, ...ask, access_programs, input: noted([...HISTORY, user('hi')]) }
      expect((await post(setup, client, body, { path })).status).toBe(200)
    },
  )
})
