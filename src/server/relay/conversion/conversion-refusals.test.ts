import { describe, expect, test } from 'vitest'
import { AppError } from '../../app-error.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { RequestNotes } from '../protocols/canonical/request-notes.ts'
import { dialects } from './dialects.ts'
import { withSearchAt } from './search.ts'

/** Members that the upstream's dialect cannot express are rejected by the client's own name. */

const openai = { model: 'm', messages: [{ role: 'user', content: 'x' }] }
const anthropic = { model: 'm', max_tokens: 9000, messages: [{ role: 'user', content: 'x' }] }
const gemini = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
const picture = (url: string) => [
  { role: 'user', content: [{ type: 'image_url', image_url: { url } }] },
]
/** As in a response, with an agent's own name. */
const OWN_ANSWER = {
  role: 'assistant',
  content: 'yo',
  refusal: null,
  annotations: [],
  audio: null,
  function_call: null,
  name: 'supervisor',
}
const remote = picture('https://pictures.example/a.png')

/** The member for which a strict call is rejected; null if it is not rejected. */
function refused(client: DialectName, upstream: DialectName, body: object, model = 'm') {
  try {
    // Requests are objects; the reader relies on nothing else.
    const strict = new RequestNotes(true)
    const read = dialects[client].readRequest(body as Record<string, unknown>, strict)
    const request = withSearchAt(read, { dialect: upstream, traits: {}, model })
    dialects[upstream].writeRequest(request, { model, isStream: false, asksForUsage: false })
    return null
  } catch (error) {
    if (error instanceof AppError)
      return [error.code.replace(/relay_field_|tool_|search_/g, ''), error.params.field]
    throw error
  }
}

describe('a client of OpenAI', () => {
  const cases: [DialectName, object, string, string?][] = [
    ['anthropic', { n: 2 }, 'n'],
    ['anthropic', { seed: 1 }, 'seed'],
    ['anthropic', { presence_penalty: 0.5 }, 'presence_penalty'],
    ['anthropic', { frequency_penalty: 0.5 }, 'frequency_penalty'],
    ['anthropic', { logprobs: true, top_logprobs: 2 }, 'logprobs'],
    ['anthropic', { reasoning_effort: 'high' }, 'reasoning_effort', 'claude-3-5-haiku-latest'],
    ['openai', { reasoning_effort: 'high' }, 'reasoning_effort', 'gpt-4.1'],
    ['anthropic', { messages: picture('data:image/bmp;base64,AA==') }, 'messages[0].content[0]'],
    ['anthropic', { logit_bias: { '50256': -100 } }, 'logit_bias'],
    ['anthropic', { web_search_options: {} }, 'web_search_options'],
    ['anthropic', { modalities: ['text', 'audio'] }, 'modalities'],
    ['anthropic', { store: true }, 'store'],
    ['anthropic', { unheard_of: 1 }, 'unheard_of'],
    [
      'anthropic',
      { messages: [{ role: 'developer', content: remote[0]?.content }] },
      'messages[0].content[0]',
    ],
    ['anthropic', { messages: [{ role: 'function', content: 'x' }] }, 'messages[0].role'],
    [
      'anthropic',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }],
          },
        ],
      },
      'messages[0].content[0]',
    ],
    [
      'anthropic',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
      'messages[0].content[0]',
    ],
    ['gemini', { messages: picture('http://pictures.example/a.png') }, 'messages[0].content[0]'],
    ['gemini', { reasoning_effort: 'none' }, 'reasoning_effort', 'gemini-2.5-pro'],
    ['gemini', { reasoning_effort: 'low' }, 'reasoning_effort', 'gemini-1.5-pro'],
    ['gemini', { verbosity: 'high' }, 'verbosity'],
    ['gemini', { logprobs: true }, 'logprobs'],
  ]
  test.each(cases)('towards %s, %j: %s', (upstream, members, field, model) => {
    expect(refused('openai', upstream, { ...openai, ...members }, model)).toEqual([
      'unsupported',
      field,
    ])
  })

  test.each<[DialectName, object]>([
    ['anthropic', { presence_penalty: 0, frequency_penalty: 0, n: 1, store: false }],
    ['anthropic', { n: 0 }],
    ['anthropic', { messages: remote }],
    ['anthropic', { logit_bias: {}, seed: null, service_tier: 'auto', modalities: ['text'] }],
    [
      'anthropic',
      { user: 'ann', metadata: { a: 'b' }, prompt_cache_key: 'k', prompt_cache_options: {} },
    ],
    ['anthropic', { messages: [{ role: 'user', content: 'x', name: 'Ann' }, OWN_ANSWER] }],
    ['gemini', { messages: [{ role: 'user', content: 'x', name: 'Ann' }, OWN_ANSWER] }],
    ['gemini', { response_format: { type: 'json_object' }, seed: 7, n: 2 }],
    ['gemini', { messages: picture('https://youtu.be/abc') }],
  ])('towards %s, %j is no reason to refuse', (upstream, members) => {
    expect(refused('openai', upstream, { ...openai, ...members })).toBeNull()
  })

  test.each<[object, string]>([
    [{ temperature: 'hot' }, 'temperature'],
    [{ tools: [7] }, 'tools[0]'],
    [{ tool_choice: 7 }, 'tool_choice'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: 7 }] }] },
      'messages[0].content[0].text',
    ],
    [{ response_format: { type: 'xml' } }, 'response_format'],
    [{ reasoning_effort: 'gigantic' }, 'reasoning_effort'],
    [{ messages: picture('file:///etc/passwd') }, 'messages[0].content[0].image_url.url'],
  ])('%j cannot be understood', (members, field) => {
    expect(refused('openai', 'anthropic', { ...openai, ...members })).toEqual(['invalid', field])
  })

  test.each([
    [{ type: 'text', text: null }, 'text'],
    [{ type: 'text' }, 'text'],
    [{ type: 'refusal' }, 'refusal'],
  ])('must write what %j says', (part, member) => {
    const messages = [{ role: 'assistant', content: [part] }]
    expect(refused('openai', 'gemini', { ...openai, messages })).toEqual([
      'required',
      `messages[0].content[0].${member}`,
    ])
  })
})

describe('a client of Anthropic', () => {
  const cases: [DialectName, object, string, string?][] = [
    ['openai', { max_tokens: 0 }, 'max_tokens'],
    ['openai', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
    ['openai', { container: 'c' }, 'container'],
    ['openai', { mcp_servers: [{}] }, 'mcp_servers'],
    ['openai', { speed: 'fast' }, 'speed'],
    [
      'openai',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } },
            ],
          },
        ],
      },
      'messages[0].content[0]',
    ],
    [
      'openai',
      { messages: [{ role: 'user', content: [{ type: 'container_upload' }] }] },
      'messages[0].content[0].type',
    ],
    [
      'openai',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'search_result', citations: { enabled: true } }],
          },
        ],
      },
      'messages[0].content[0].citations',
    ],
    [
      'openai',
      {
        messages: [
          {
            role: 'system',
            content: [{ type: 'tool_addition', tool: { type: 'mcp_toolset_reference' } }],
          },
        ],
      },
      'messages[0].content[0].tool.type',
    ],
  ]
  test.each(cases)('towards %s, %j: %s', (upstream, members, field, model) => {
    expect(refused('anthropic', upstream, { ...anthropic, ...members }, model)).toEqual([
      'unsupported',
      field,
    ])
  })

  test('is not rejected for hints and cache marks', () => {
    const marked = { type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }
    const body = {
      ...anthropic,
      system: [marked],
      thinking: { type: 'disabled' },
      metadata: { user_id: 'u'.repeat(200) },
      context_management: { edits: [] },
      mcp_servers: [],
      inference_geo: 'global',
      service_tier: 'auto',
    }
    expect(refused('anthropic', 'openai', body)).toBeNull()
    expect(refused('anthropic', 'gemini', body)).toBeNull()
  })

  // Claude Code sends this to every unknown model.
  test.each<[DialectName, string]>([
    ['openai', 'gpt-4.1'],
    ['gemini', 'gemini-2.0-flash'],
    ['anthropic', 'claude-3-5-haiku-latest'],
  ])('may let think what does not: towards %s, %s', (upstream, model) => {
    for (const members of [
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high' } },
      { output_config: { effort: 'low' } },
    ]) {
      const request = dialects.anthropic.readRequest({ ...anthropic, ...members })
      const to = { model, isStream: false, asksForUsage: false }
      const plain = dialects.anthropic.readRequest(anthropic)
      const { writeRequest } = dialects[upstream]
      expect(writeRequest(request, to)).toEqual(writeRequest(plain, to))
    }
  })
})

describe('a client of Gemini', () => {
  const config = (members: object) => ({ generationConfig: members })
  const cases: [DialectName, object, string][] = [
    ['anthropic', config({ candidateCount: 2 }), 'generationConfig.candidateCount'],
    ['anthropic', config({ seed: 1 }), 'generationConfig.seed'],
    ['openai', config({ responseModalities: ['IMAGE'] }), 'generationConfig.responseModalities'],
    ['openai', config({ speechConfig: { voiceConfig: {} } }), 'generationConfig.speechConfig'],
    ['openai', config({ responseLogprobs: true }), 'generationConfig.responseLogprobs'],
    ['openai', config({ responseMimeType: 'text/x.enum' }), 'generationConfig.responseMimeType'],
    ['openai', { tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    ['openai', { cachedContent: 'cachedContents/1' }, 'cachedContent'],
    [
      'openai',
      { safetySettings: [{ category: 'c', threshold: 'BLOCK_LOW_AND_ABOVE' }] },
      'safetySettings',
    ],
    [
      'anthropic',
      { contents: [{ parts: [{ inlineData: { mimeType: 'video/mp4', data: 'AA==' } }] }] },
      'contents[0].parts[0]',
    ],
  ]
  test.each(cases)('towards %s, %j: %s', (upstream, members, field) => {
    expect(refused('gemini', upstream, { ...gemini, ...members })).toEqual(['unsupported', field])
  })

  test.each([
    [config({ mediaResolution: 'MEDIA_RESOLUTION_LOW' }), 'generationConfig.mediaResolution'],
    [config({ audioTimestamp: true }), 'generationConfig.audioTimestamp'],
    [{ toolConfig: { retrievalConfig: { languageCode: 'en' } } }, 'toolConfig.retrievalConfig'],
    [config({ enableEnhancedCivicAnswers: true }), 'generationConfig.enableEnhancedCivicAnswers'],
    [
      {
        contents: [{ parts: [{ text: 'x', mediaResolution: { level: 'LOW' }, partMetadata: {} }] }],
      },
      'contents[0].parts[0].mediaResolution',
    ],
  ])('%j is dropped for other dialects, and listed', (members, field) => {
    const notes = new RequestNotes()
    dialects.gemini.readRequest({ ...gemini, ...members }, notes)
    expect(notes.dropped).toEqual([field])
  })

  test('gets Google’s error for a schema without a format', () => {
    const member = 'generationConfig.responseMimeType'
    const asked = (over: object) => ({ ...gemini, ...config({ responseSchema: {}, ...over }) })
    expect(refused('gemini', 'openai', asked({}))).toEqual(['required', member])
    const plain = asked({ responseMimeType: 'text/plain' })
    expect(refused('gemini', 'openai', plain)).toEqual(['invalid', member])
  })

  test('cannot send one member in two spellings', () => {
    const body = { ...gemini, generationConfig: {}, generation_config: {} }
    expect(refused('gemini', 'openai', body)).toEqual(['invalid', 'generation_config'])
  })

  test.each<[DialectName, string]>([
    ['anthropic', 'claude-3-5-sonnet-20241022'],
    ['openai', 'gpt-4o'],
  ])('may let think what does not: towards %s, %s', (upstream, model) => {
    for (const thinkingConfig of [
      { thinkingBudget: 2000 },
      { thinkingBudget: -1 },
      { includeThoughts: true },
      { includeThoughts: true, thinkingLevel: 'HIGH' },
    ]) {
      expect(refused('gemini', upstream, { ...gemini, ...config({ thinkingConfig }) }, model)).toBe(
        null,
      )
    }
  })

  test('is not rejected for default values', () => {
    const body = { ...gemini, serviceTier: 'STANDARD', store: false }
    expect(refused('gemini', 'openai', body)).toBeNull()
    expect(refused('gemini', 'anthropic', body)).toBeNull()
    expect(refused('gemini', 'openai', { ...gemini, store: true })).toEqual([
      'unsupported',
      'store',
    ])
  })

  test('can write the tool mode in any letter case, but must send a valid one', () => {
    const asked = (mode: string) => ({
      ...gemini,
      tools: [{ functionDeclarations: [{ name: 'w' }] }],
      toolConfig: { functionCallingConfig: { mode } },
    })
    const choice = (mode: string) => dialects.gemini.readRequest(asked(mode)).toolChoice
    expect(choice('any')).toEqual({ kind: 'required' })
    expect(choice('none')).toEqual({ kind: 'none' })
    expect(choice('VALIDATED')).toEqual({ kind: 'auto' })
    const field = 'toolConfig.functionCallingConfig.mode'
    expect(refused('gemini', 'openai', asked('SOME'))).toEqual(['invalid', field])
  })

  test('can turn off filters that other dialects lack', () => {
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
    expect(refused('gemini', 'anthropic', { ...gemini, safetySettings })).toBeNull()
  })
})
