import type { ProviderCall } from '../relay/dialect/provider.ts'

/** What a provider is told of a call: a chat in one piece, of a client that adds nothing itself. */
export const aProviderCall = (over: Partial<ProviderCall> = {}): ProviderCall => ({
  task: 'chat',
  model: 'm',
  isStream: false,
  clientQuery: new URLSearchParams(),
  clientHeaders: {},
  ownAddress: '',
  ...over,
})
