import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { channelType, type Protocol } from '../../../contract/channel-types.ts'
import { anthropicHeaders, anthropicUrl } from '../vendors/anthropic/address.ts'
import { anthropicItself } from '../anthropic/refusals.ts'
import { azureAsksForUsage, azureHeaders, azureUrl } from '../vendors/azure/address.ts'
import type { Provider, ProviderRow, Task } from '../dialect/provider.ts'
import { geminiHeaders, geminiUrl, geminiVia } from '../vendors/google/address.ts'
import { googlesMedia } from '../vendors/google/media.ts'
import { nativeProviders } from './native-providers.ts'
import { capabilitiesOf } from '../../model/model-table.ts'
import { takesOtherLimit } from '../openai/write-request.ts'
import { openaiFamily, thinkingEdits } from './openai-family.ts'

const azure: Provider = {
  dialect: 'openai',
  url: azureUrl,
  headers: azureHeaders,
  asksForUsage: azureAsksForUsage,
}

const thinkingAzure: Provider = { ...azure, edits: thinkingEdits }

const anthropicLike: Provider = {
  dialect: 'anthropic',
  url: anthropicUrl,
  headers: anthropicHeaders,
  asksForUsage: () => false,
}

const anthropic: Provider = { ...anthropicLike, reading: anthropicItself }

const gemini: Provider = {
  dialect: 'gemini',
  url: geminiUrl,
  headers: geminiHeaders,
  asksForUsage: () => false,
  via: geminiVia,
}

/** Every protocol that upstreams are called by: one row each. */
const providers: Readonly<Partial<Record<Protocol, ProviderRow>>> = {
  ...nativeProviders,
  openai: openaiFamily,
  azure: (model, _task, _type, capabilities) =>
    takesOtherLimit({ model, capabilities }) ? thinkingAzure : azure,
  anthropic: (_model, _task, type) =>
    type === ChannelTypeNumber.anthropicCompatible ? anthropicLike : anthropic,
  gemini: (model, task) => {
    const media = googlesMedia(model, task)
    return media === null ? gemini : { ...gemini, ...media }
  },
}

/** Null: nobody here speaks with channels of this type yet. */
export function providerOf(
  type: number,
  model: string,
  task: Task,
  capabilities = capabilitiesOf({ model, type }),
): Provider | null {
  const row = providers[channelType(type).protocol]
  return typeof row === 'function' ? row(model, task, type, capabilities) : (row ?? null)
}
