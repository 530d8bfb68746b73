/** LangChain for JavaScript: langchain.mjs openai|anthropic|google PROMPT */
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { findKey, findWord } from './functions.mjs'

const [kind, prompt] = process.argv.slice(2)
const { GATEHOUSE_URL: url, GATEHOUSE_KEY: apiKey, MODEL: model } = process.env
const models = {
  openai: () => new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${url}/v1` } }),
  anthropic: () => new ChatAnthropic({ model, apiKey, anthropicApiUrl: url }),
  google: () => new ChatGoogleGenerativeAI({ model, apiKey, baseUrl: url }),
}
const agent = createAgent({
  model: models[kind](),
  tools: [
    tool(({ file }) => findKey(file), {
      name: 'find_key',
      description: 'Returns the line of a file that names the key.',
      schema: z.object({ file: z.string() }),
    }),
    tool(({ file, key }) => findWord(file, key), {
      name: 'find_word',
      description: 'Returns the line of a file that begins with the key.',
      schema: z.object({ file: z.string(), key: z.string() }),
    }),
  ],
})
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] })
console.log(messages.at(-1).text)
