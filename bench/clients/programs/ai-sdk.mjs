/** Vercel's AI SDK: ai-sdk.mjs openai|openai-compatible|anthropic|google PROMPT */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { findKey, findWord } from './functions.mjs'

const [kind, prompt] = process.argv.slice(2)
const { GATEHOUSE_URL: url, GATEHOUSE_KEY: apiKey, MODEL: model } = process.env
const providers = {
  openai: () => createOpenAI({ baseURL: `${url}/v1`, apiKey }),
  'openai-compatible': () =>
    createOpenAICompatible({ name: 'gatehouse', baseURL: `${url}/v1`, apiKey, includeUsage: true }),
  anthropic: () => createAnthropic({ baseURL: `${url}/v1`, apiKey }),
  google: () => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey }),
}
const { textStream } = streamText({
  model: providers[kind]()(model),
  prompt,
  // Not every channel stores the items that the SDK would refer to.
  providerOptions: { openai: { store: false } },
  stopWhen: stepCountIs(5),
  tools: {
    find_key: tool({
      description: 'Returns the line of a file that names the key.',
      inputSchema: z.object({ file: z.string() }),
      execute: ({ file }) => findKey(file),
    }),
    find_word: tool({
      description: 'Returns the line of a file that begins with the key.',
      inputSchema: z.object({ file: z.string(), key: z.string() }),
      execute: ({ file, key }) => findWord(file, key),
    }),
  },
  onError: ({ error }) => {
    console.error(error)
    process.exitCode = 1
  },
})
for await (const text of textStream) process.stdout.write(text)
