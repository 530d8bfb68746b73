/**
 * A conversation with an image and parallel tool calls, as upstreams must receive it from clients
 * of any API.
 */

export const PICTURE_DATA = 'iVBORw0KGgo='

const args = [{ location: 'Paris' }, { location: 'Bogotá' }]
const question = { text: 'What is in this image, and the weather?' }
const preface = { text: 'I look.' }
const media_type = 'image/png'

export const ANTHROPIC_PICTURE_AND_CALLS = {
  system: [
    { type: 'text', text: 'You are helpful.' },
    { type: 'text', text: 'Be brief.' },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', ...question },
        { type: 'image', source: { type: 'base64', media_type, data: PICTURE_DATA } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', ...preface },
        { type: 'tool_use', id: 'call_1', name: 'get_weather', input: args[0] },
        { type: 'tool_use', id: 'call_2', name: 'get_weather', input: args[1] },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'call_1',
          content: [{ type: 'text', text: '{"temp":14}' }],
        },
        {
          type: 'tool_result',
          tool_use_id: 'call_2',
          content: [{ type: 'text', text: 'eighteen' }],
        },
      ],
    },
  ],
}

export const GEMINI_PICTURE_AND_CALLS = {
  systemInstruction: { parts: [{ text: 'You are helpful.' }, { text: 'Be brief.' }] },
  contents: [
    {
      role: 'user',
      parts: [question, { inlineData: { mimeType: media_type, data: PICTURE_DATA } }],
    },
    {
      role: 'model',
      parts: [
        preface,
        { functionCall: { name: 'get_weather', args: args[0] } },
        { functionCall: { name: 'get_weather', args: args[1] } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'get_weather', response: { temp: 14 } } },
        { functionResponse: { name: 'get_weather', response: { result: 'eighteen' } } },
      ],
    },
  ],
}
