import type { Provider } from '../../protocols/dialect/provider.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { openaiVendor } from '../openai-vendor.ts'
import { names } from '../vendor.ts'
import { MISTRAL_LACKS, mistralEdits } from './chat.ts'
import { speechEdits, speechWalk, speechWire } from './speech.ts'

/**
 * Mistral rejects unknown members, and reports the usage of every stream without a request for it.
 * Source: Mistral's API reference, "Chat Completion".
 */
const usual: Partial<Provider> = {
  asksForUsage: () => false,
  lacks: MISTRAL_LACKS,
  edits: mistralEdits,
  refusesReasoning: true,
}

const speech: Partial<Provider> = {
  edits: speechEdits,
  wire: speechWire,
  via: (_channel, { isStream }) => (isStream ? null : inSteps(speechWalk)),
}

export const mistral = openaiVendor({
  type: 28,
  label: 'Mistral AI',
  color: 'orange',
  baseUrl: 'https://api.mistral.ai',
  modelVendor: 'mistral',
  listPosition: 100,
  call: (_model, task) => (task === 'speech' ? speech : usual),
  models: names(`
    mistral-medium-latest mistral-medium-2604 mistral-medium-3-5 mistral-medium-2508
    magistral-medium-latest magistral-medium-2509 devstral-2512 devstral-medium-latest
    devstral-medium-2507 codestral-latest codestral-2508 voxtral-small-2507
    voxtral-mini-transcribe-2602 voxtral-tts-2603 mistral-large-4 mistral-large-latest
    mistral-large-2512 pixtral-large-latest pixtral-large-2411 mistral-small-latest
    mistral-small-2603 mistral-small-2506 magistral-small-latest magistral-small-2509
    devstral-small-2507 devstral-small-latest open-mistral-nemo ministral-14b-2512
    ministral-8b-latest ministral-8b-2512 ministral-3b-latest ministral-3b-2512 mistral-embed
    codestral-embed-2505 open-mistral-7b open-mixtral-8x7b
  `),
  owner: 'mistralai',
  ownerRank: 7,
  priceLists: { rank: 60, modelsDev: ['mistral'], liteLlm: 'mistral' },
})
