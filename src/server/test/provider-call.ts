import type { ProviderCall } from '../relay/protocols/dialect/provider.ts'

/**
 * Returns the data of a call for a provider: a chat without streaming, from a client that adds
 * nothing.
 */
export const aProviderCall = (over: Partial<ProviderCall> = {}): ProviderCall => ({
  task: 'chat',
  model: 'm',
  isStream: false,
  clientQuery: new URLSearchParams(),
  clientHeaders: {},
  ownAddress: '',
  ...over,
})
