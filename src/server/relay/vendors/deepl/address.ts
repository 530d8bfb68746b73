import { defaultBaseUrl } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import { serverSentEvents, type Wire } from '../../transport/wire.ts'

/** Source: DeepL's API reference, "Translate text" and "Authentication". */
export function deeplUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  if (task !== 'chat') return null
  const base = channel.baseUrl || defaultBaseUrl(channel.type, channel.key)
  return `${base.replace(/\/v\d$/, '')}/v2/translate`
}

export const deeplHeaders = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `DeepL-Auth-Key ${key}`,
})

/** A translation is not streamed; a client that requested a stream gets it as a single event. */
export const deeplWire: Wire = {
  ...serverSentEvents,
  accept: 'application/json',
  isStream: () => false,
}
