import path from 'node:path'
import type { Client, Setting } from './client.ts'

const npmProgram = (name: string) => (setting: Setting) =>
  path.join(setting.packages, 'node_modules/.bin', name)
const pipProgram = (name: string) => (setting: Setting) => path.join(setting.packages, 'bin', name)

/** Steps for programs that declare the two functions of `programs/` themselves. */
const functionSteps: Client['steps'] = () => [
  { tool: 'find_key', args: { file: 'first.txt' } },
  { tool: 'find_word', args: { file: 'second.txt', key: '{key}' } },
]

const claudeCode: Client = {
  id: 'claude-code',
  name: 'Claude Code',
  dialect: 'Anthropic',
  install: { from: 'npm', packages: ['@anthropic-ai/claude-code'] },
  env: ({ url, key, model }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
  command: (setting) => [
    npmProgram('claude')(setting),
    '--print',
    setting.prompt,
    '--allowedTools',
    'Read,Bash',
  ],
  steps: ({ work }) => [
    { tool: 'Read', args: { file_path: path.join(work, 'first.txt') } },
    { tool: 'Bash', args: { command: 'grep {key} second.txt', description: 'Find the key' } },
  ],
}

/** By default it declares `web_search`, a tool hosted by OpenAI. */
const codex = (id: string, name: string, search: string[]): Client => ({
  id,
  name,
  dialect: 'Responses',
  install: { from: 'npm', packages: ['@openai/codex'] },
  env: ({ key }) => ({ GATEHOUSE_KEY: key }),
  files: ({ url, model }) => ({
    '.codex/config.toml': [
      `model = "${model}"`,
      'model_provider = "gatehouse"',
      ...search,
      '',
      '[model_providers.gatehouse]',
      'name = "Gatehouse"',
      `base_url = "${url}/v1"`,
      'env_key = "GATEHOUSE_KEY"',
      'wire_api = "responses"',
      '',
    ].join('\n'),
  }),
  command: (setting) => [
    npmProgram('codex')(setting),
    'exec',
    '--skip-git-repo-check',
    // Codex's sandbox needs permissions that containers lack; the folder is temporary.
    '--sandbox',
    'danger-full-access',
    setting.prompt,
  ],
  steps: () => [
    { tool: 'exec_command', args: { cmd: 'cat first.txt' } },
    { tool: 'exec_command', args: { cmd: 'grep {key} second.txt' } },
  ],
})

const geminiCli: Client = {
  id: 'gemini-cli',
  name: 'Gemini CLI',
  dialect: 'Gemini',
  install: { from: 'npm', packages: ['@google/gemini-cli'] },
  env: ({ url, key }) => ({
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  }),
  files: () => ({
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false },
    }),
  }),
  command: (setting) => [
    npmProgram('gemini')(setting),
    '--model',
    setting.model,
    '--yolo',
    '--prompt',
    setting.prompt,
  ],
  steps: ({ work }) => [
    { tool: 'read_file', args: { file_path: path.join(work, 'first.txt') } },
    {
      tool: 'run_shell_command',
      args: { command: 'grep {key} second.txt', description: 'Find the key' },
    },
  ],
}

const opencode = (sdk: string, dialect: Client['dialect'], base: string): Client => ({
  id: `opencode-${sdk}`,
  name: `opencode, @ai-sdk/${sdk}`,
  dialect,
  install: { from: 'npm', packages: ['opencode-ai'] },
  env: ({ key }) => ({ GATEHOUSE_KEY: key, OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  files: ({ url, model }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      provider: {
        gatehouse: {
          npm: `@ai-sdk/${sdk}`,
          name: 'Gatehouse',
          options: { baseURL: url + base, apiKey: '{env:GATEHOUSE_KEY}' },
          models: { [model]: { name: model } },
        },
      },
    }),
  }),
  command: (setting) => [
    npmProgram('opencode')(setting),
    'run',
    '--model',
    `gatehouse/${setting.model}`,
    setting.prompt,
  ],
  steps: ({ work }) => [
    { tool: 'read', args: { filePath: path.join(work, 'first.txt') } },
    { tool: 'bash', args: { command: 'grep {key} second.txt', description: 'Find the key' } },
  ],
})

const aider: Client = {
  id: 'aider',
  name: 'aider',
  dialect: 'Chat',
  install: { from: 'pip', packages: ['aider-chat'] },
  env: ({ url, key }) => ({
    OPENAI_API_BASE: `${url}/v1`,
    OPENAI_API_KEY: key,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  }),
  command: (setting) => [
    pipProgram('aider')(setting),
    '--model',
    `openai/${setting.model}`,
    '--edit-format',
    'whole',
    '--map-tokens',
    '0',
    '--no-gitignore',
    '--no-auto-commits',
    '--yes-always',
    '--no-show-release-notes',
    '--no-check-update',
    '--analytics-disable',
    '--no-show-model-warnings',
    '--message',
    setting.prompt,
  ],
  // aider has no tools: it adds the files that the model names, and writes those in its reply.
  steps: () => [
    { text: 'Please add first.txt to the chat.' },
    { text: 'Please add second.txt to the chat.' },
  ],
  writes: 'answer.txt',
}

const llm: Client = {
  id: 'llm',
  name: 'llm',
  dialect: 'Chat',
  install: { from: 'pip', packages: ['llm'] },
  files: ({ url, key, model }) => ({
    '.config/io.datasette.llm/keys.json': JSON.stringify({ gatehouse: key }),
    '.config/io.datasette.llm/extra-openai-models.yaml': [
      '- model_id: gatehouse',
      `  model_name: ${model}`,
      `  api_base: ${url}/v1`,
      '  api_key_name: gatehouse',
      '  supports_tools: true',
      '',
    ].join('\n'),
  }),
  command: (setting) => [
    pipProgram('llm')(setting),
    '--model',
    'gatehouse',
    '--functions',
    path.join(setting.packages, 'programs/functions.py'),
    setting.prompt,
  ],
  steps: functionSteps,
}

/** A program in `programs/`, with one of its dialects. */
function program(
  file: string,
  kind: string,
  install: Client['install'],
): Pick<Client, 'install' | 'env' | 'command' | 'steps'> {
  return {
    install,
    env: ({ url, key, model }) => ({ GATEHOUSE_URL: url, GATEHOUSE_KEY: key, MODEL: model }),
    command: (setting) => [
      install?.from === 'pip' ? pipProgram('python')(setting) : process.execPath,
      path.join(setting.packages, 'programs', file),
      kind,
      setting.prompt,
    ],
    steps: functionSteps,
  }
}

const agentsSdk = (kind: string, dialect: Client['dialect']): Client => ({
  id: `agents-${kind}`,
  name: `OpenAI Agents SDK, ${kind}`,
  dialect,
  ...program('openai_agents.py', kind, { from: 'pip', packages: ['openai-agents'] }),
})

const langchainPython = (kind: string, dialect: Client['dialect']): Client => ({
  id: `langchain-python-${kind}`,
  name: `LangChain for Python, ${kind}`,
  dialect,
  ...program('langchain_agent.py', kind, {
    from: 'pip',
    packages: ['langchain', 'langchain-openai', 'langchain-anthropic', 'langchain-google-genai'],
  }),
})

const langchainJs = (kind: string, dialect: Client['dialect']): Client => ({
  id: `langchain-js-${kind}`,
  name: `LangChain for JavaScript, ${kind}`,
  dialect,
  ...program('langchain.mjs', kind, {
    from: 'npm',
    packages: [
      'langchain',
      '@langchain/core',
      '@langchain/openai',
      '@langchain/anthropic',
      '@langchain/google-genai',
      'zod',
    ],
  }),
})

const aiSdk = (kind: string, dialect: Client['dialect']): Client => ({
  id: `ai-sdk-${kind}`,
  name: `AI SDK, @ai-sdk/${kind}`,
  dialect,
  ...program('ai-sdk.mjs', kind, {
    from: 'npm',
    packages: [
      'ai',
      '@ai-sdk/openai',
      '@ai-sdk/openai-compatible',
      '@ai-sdk/anthropic',
      '@ai-sdk/google',
      'zod',
    ],
  }),
})

const anthropicSdk = (kind: string): Client => ({
  id: `anthropic-python-${kind}`,
  name: `Anthropic SDK for Python, ${kind}`,
  dialect: 'Anthropic',
  ...program('anthropic_sdk.py', kind, { from: 'pip', packages: ['anthropic'] }),
})

const googleSdk = (kind: string): Client => ({
  id: `google-python-${kind}`,
  name: `Google Gen AI SDK for Python, ${kind}`,
  dialect: 'Gemini',
  ...program('google_genai_sdk.py', kind, { from: 'pip', packages: ['google-genai'] }),
})

/** Web servers without a command line: their requests are reproduced from their sources. */
const openWebUi: Client = {
  id: 'open-webui',
  name: 'Open WebUI, its requests',
  dialect: 'Chat',
  source: 'of 0.12.4',
  ...program('web-chat.mjs', 'open-webui', null),
}

const lobeChat: Client = {
  id: 'lobechat',
  name: 'LobeChat, its requests',
  dialect: 'Chat',
  source: 'of 1.132.11',
  ...program('web-chat.mjs', 'lobechat', null),
  steps: () => [
    { tool: 'gatehouse____find_key', args: { file: 'first.txt' } },
    { tool: 'gatehouse____find_word', args: { file: 'second.txt', key: '{key}' } },
  ],
}

export const clients: readonly Client[] = [
  claudeCode,
  codex('codex', 'Codex', []),
  codex('codex-no-search', 'Codex, web_search disabled', ['web_search = "disabled"']),
  geminiCli,
  opencode('openai', 'Responses', '/v1'),
  opencode('openai-compatible', 'Chat', '/v1'),
  opencode('anthropic', 'Anthropic', '/v1'),
  opencode('google', 'Gemini', '/v1beta'),
  aider,
  llm,
  agentsSdk('responses', 'Responses'),
  agentsSdk('chat', 'Chat'),
  langchainPython('openai', 'Chat'),
  langchainPython('anthropic', 'Anthropic'),
  langchainPython('google', 'Gemini'),
  langchainJs('openai', 'Chat'),
  langchainJs('anthropic', 'Anthropic'),
  langchainJs('google', 'Gemini'),
  aiSdk('openai', 'Responses'),
  aiSdk('openai-compatible', 'Chat'),
  aiSdk('anthropic', 'Anthropic'),
  aiSdk('google', 'Gemini'),
  anthropicSdk('stream'),
  anthropicSdk('whole'),
  googleSdk('stream'),
  googleSdk('whole'),
  openWebUi,
  lobeChat,
]
