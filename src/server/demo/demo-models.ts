/** Models of the demo's calls, with typical figures. */
export interface DemoModel {
  name: string
  /** Family of the channels that serve it. */
  family: ModelFamily
  /** Relative frequency of its calls. */
  share: number
  promptTokens: number
  /** 0 for embeddings. */
  completionTokens: number
  /** Milliseconds until the first token, and per completion token. */
  firstMs: number
  tokenMs: number
}

export type ModelFamily =
  | 'openai'
  | 'claude'
  | 'gemini'
  | 'deepseek'
  | 'qwen'
  | 'glm'
  | 'kimi'
  | 'doubao'
  | 'grok'
  | 'minimax'
  | 'ernie'
  | 'mistral'
  | 'llama'
  | 'step'

type Figures = [
  share: number,
  promptTokens: number,
  completionTokens: number,
  firstMs: number,
  tokenMs: number,
]

const model = (family: ModelFamily, name: string, ...figures: Figures): DemoModel => {
  const [share, promptTokens, completionTokens, firstMs, tokenMs] = figures
  return { name, family, share, promptTokens, completionTokens, firstMs, tokenMs }
}

export const demoModels: readonly DemoModel[] = [
  model('openai', 'gpt-4o-mini', 18, 900, 260, 420, 9),
  model('openai', 'gpt-4o', 9, 1600, 420, 520, 13),
  model('openai', 'gpt-4.1', 7, 2400, 480, 560, 12),
  model('openai', 'gpt-4.1-mini', 6, 1500, 320, 380, 8),
  model('openai', 'gpt-5', 5, 2200, 1100, 1900, 14),
  model('openai', 'gpt-5-mini', 5, 1300, 700, 900, 9),
  model('openai', 'o4-mini', 2, 1400, 1600, 3200, 11),
  model('openai', 'text-embedding-3-small', 9, 380, 0, 140, 0),
  model('openai', 'text-embedding-3-large', 2, 420, 0, 180, 0),
  model('claude', 'claude-sonnet-4-5', 8, 3600, 640, 900, 15),
  model('claude', 'claude-haiku-4-5', 5, 1500, 380, 480, 8),
  model('claude', 'claude-opus-4-5', 1.5, 4200, 820, 1500, 22),
  model('gemini', 'gemini-2.5-flash', 6, 1800, 420, 450, 6),
  model('gemini', 'gemini-2.5-pro', 3, 3000, 900, 2100, 12),
  model('deepseek', 'deepseek-chat', 14, 1300, 460, 650, 18),
  model('deepseek', 'deepseek-reasoner', 5, 1100, 1500, 900, 20),
  model('qwen', 'qwen-plus', 7, 1200, 380, 480, 12),
  model('qwen', 'qwen-max', 3, 1600, 520, 700, 17),
  model('qwen', 'qwen-turbo', 4, 600, 180, 260, 7),
  model('glm', 'glm-4.6', 4, 1500, 520, 620, 15),
  model('glm', 'glm-4.7-flash', 2, 700, 240, 340, 9),
  model('kimi', 'kimi-k2.5', 3, 2600, 640, 800, 16),
  model('kimi', 'moonshot-v1-32k', 1.5, 5200, 380, 900, 14),
  model('doubao', 'doubao-seed-1.6', 4, 1400, 420, 520, 13),
  model('doubao', 'doubao-seed-1.6-flash', 2.5, 800, 220, 280, 7),
  model('grok', 'grok-4-0709', 1.5, 2200, 760, 1400, 14),
  model('minimax', 'MiniMax-M2.5', 1.5, 1700, 520, 700, 12),
  model('ernie', 'ernie-4.5', 1.5, 1100, 360, 560, 14),
  model('mistral', 'mistral-medium-latest', 1, 1300, 380, 500, 11),
  model('llama', 'llama-3.3-70b-versatile', 1.5, 900, 320, 190, 3),
  model('step', 'step-3', 1, 1500, 480, 760, 15),
]

export const namesOfFamilies = (families: readonly ModelFamily[]): string[] =>
  demoModels.filter(({ family }) => families.includes(family)).map(({ name }) => name)
