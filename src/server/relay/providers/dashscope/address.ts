import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../dialect/provider.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'

/**
 * DashScope's compatible mode is OpenAI's dialect and answers for the models of its older protocol.
 * Source: Alibaba Cloud Model Studio, "OpenAI compatible - Chat" and "- Embedding".
 */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/chat/completions',
  embeddings: '/embeddings',
  embedContent: '/embeddings',
  batchEmbedContents: '/embeddings',
}

export function dashscopeUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = channel.baseUrl || channelType(channel.type).baseUrl
  if (path === undefined || base === '') return null
  return (/\/v\d+$/.test(base) ? base : `${base}/compatible-mode/v1`) + path
}

export function dashscopeHeaders({ key, config }: ProviderChannel): Record<string, string> {
  const plugin = config?.plugin
  return {
    authorization: `Bearer ${key}`,
    ...(typeof plugin === 'string' && plugin !== '' ? { 'X-DashScope-Plugin': plugin } : {}),
  }
}

/** How other gateways' users ask for an answer with a search of the web. */
const SEARCHES = /-internet$/
const TOP_P_MAX = 0.9999

export function dashscopeEdits(body: ScannedBody, { task, model }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  const topP = memberValue(body, 'top_p')
  const edits: MemberEdit[] = []
  if (SEARCHES.test(model)) {
    edits.push(
      { set: 'model', json: JSON.stringify(model.replace(SEARCHES, '')) },
      { set: 'enable_search', json: 'true' },
    )
  }
  // One itself is refused.
  if (typeof topP === 'number' && topP >= 1) {
    edits.push({ set: 'top_p', json: String(TOP_P_MAX) })
  }
  return edits
}
