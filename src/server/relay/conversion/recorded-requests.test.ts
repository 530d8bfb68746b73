import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AppError } from '../../app-error.ts'
import { RequestNotes } from '../protocols/canonical/request-notes.ts'
import type { SpokenName } from '../protocols/canonical/chat-request.ts'
import type { UpstreamName } from '../../test/upstream-dialects.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { responsesClient } from '../protocols/openai-responses/client.ts'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import { dialects } from './dialects.ts'
import { withSearchAt } from './search.ts'
import { traitsOf } from '../vendors/registry.ts'

/**
 * Requests that clients sent to real vendors (`fixtures/traffic/requests/`), converted to every
 * other dialect. All convert except those that require what the upstream cannot do.
 */
interface Recorded {
  id: string
  client: SpokenName
  body: JsonRecord
}

const FILE = new URL('../../../../fixtures/traffic/requests/requests.jsonl', import.meta.url)
const requests = readFileSync(FILE, 'utf8')
  .trim()
  .split('\n')
  // The file's lines have this shape.
  .map((line) => recordOr(parseJson(line)) as unknown as Recorded)

const TARGETS: readonly [UpstreamName, string][] = [
  ['openai', 'my-model'],
  ['responses', 'gpt-5.4'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['gemini', 'gemini-2.5-flash'],
  ['gemini', 'gemini-3.5-flash'],
  ['converse', 'amazon.nova-pro-v1:0'],
  ['ollama', 'llama3.2'],
  ['tencent', 'hunyuan-turbos'],
]

/** Models of vendors that support web search. */
const CHANNEL_TYPES: Partial<Record<UpstreamName, number>> = { responses: 1, anthropic: 14 }

/** Expected rejections by member; any other rejection is a fault. */
const RIGHTLY_REFUSED: readonly RegExp[] = [
  // Hosted tools, and their traces in a conversation.
  /(?:tool|search)_unsupported (?:tools|web_search_options)/,
  /unsupported tools\[\]\.(?:filters\.)?(?:allowed|blocked)_domains$/,
  /unsupported (?:mcp_servers|messages\[\]\.content\[\]\.type|input\[\]\.type)$/,
  /unsupported contents\[\]\.parts\[\]\.(?:toolCall|toolResponse|executableCode|codeExecutionResult)$/,
  // Files stored at a vendor, stored state, and other models.
  /file_id$|source\.type$|unsupported (?:background|conversation|previous_response_id|models)$/,
  /unsupported (?:moderation|modelArmorConfig|output_config\.task_budget|reasoning\.mode)$/,
  // Probabilities.
  /unsupported (?:generationConfig\.responseLogprobs|include)$/,
  // Images, audio, video and documents that the model does not accept.
  /unsupported (?:messages|input|contents)\[\]\.(?:content|output|parts)\[\]$/,
  /functionResponse\.parts\[\]$/,
  // Hunyuan has no output format.
  /unsupported (?:output_config\.format|response_format|text\.format)$/,
  /generationConfig\.response(?:Json)?Schema$/,
]

test.each(TARGETS)('recorded requests convert to %s (%s)', (upstream, model) => {
  const faults = new Map<string, string>()
  for (const { id, client, body } of requests) {
    if (client === upstream) continue
    try {
      const reader = client === 'responses' ? responsesClient(body) : dialects[client]
      const read = reader.readRequest(body, new RequestNotes())
      const traits = traitsOf(CHANNEL_TYPES[upstream] ?? 50)
      const request = withSearchAt(read, { dialect: upstream, traits, model })
      upstreamDialects[upstream].writeRequest(request, {
        model,
        isStream: false,
        asksForUsage: false,
      })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const tool = error.params['tool'] ?? ''
      const reason = `${error.code.replace('relay_field_', '')} ${error.params['field']} ${tool}`
      const plain = `${client}: ${reason.replaceAll(/\[\d+\]/g, '[]').trim()}`
      if (!RIGHTLY_REFUSED.some((known) => known.test(plain))) faults.set(plain, id)
    }
  }
  expect([...faults]).toEqual([])
})
