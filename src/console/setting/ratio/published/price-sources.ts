import { mark } from '../../../app/i18n.ts'

/** Public price lists. */
export interface PriceSource {
  id: string
  /** A name, or a text to translate. */
  label: string
  /** Empty for the built-in prices; null if the user enters it. */
  address: string | null
}

export const priceSources: readonly PriceSource[] = [
  { id: 'models.dev', label: 'models.dev', address: 'https://models.dev/api.json' },
  { id: 'openrouter', label: 'OpenRouter', address: 'https://openrouter.ai/api/v1/models' },
  {
    id: 'litellm',
    label: 'LiteLLM',
    address:
      'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
  },
  { id: 'built-in', label: mark('此版本内置的价格'), address: '' },
  { id: 'other', label: mark('其他地址'), address: null },
]
