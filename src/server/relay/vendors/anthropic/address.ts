import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'

/** Source: Anthropic's API reference, "Versions" and "Beta headers". */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/messages',
  countTokens: '/messages/count_tokens',
}

const DEFAULT_VERSION = '2023-06-01'

export function anthropicUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const path = PATHS[call.task]
  const base = channel.baseUrl || channelType(channel.type).baseUrl
  if (path === undefined || base === '') return null
  const isBeta = call.clientQuery.get('beta') === 'true'
  const root = /\/v\d+$/.test(base) ? base : `${base}/v1`
  return `${root}${path}${isBeta ? '?beta=true' : ''}`
}

/** The version and the betas that a client of the same dialect was written for travel on. */
export function anthropicHeaders(
  channel: ProviderChannel,
  { clientHeaders }: ProviderCall,
): Record<string, string> {
  const version = clientHeaders['anthropic-version']
  const beta = clientHeaders['anthropic-beta']
  return {
    'x-api-key': channel.key,
    'anthropic-version': typeof version === 'string' ? version : DEFAULT_VERSION,
    ...(typeof beta === 'string' ? { 'anthropic-beta': beta } : {}),
  }
}
