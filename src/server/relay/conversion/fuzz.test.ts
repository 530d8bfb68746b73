import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../app-error.ts'
import { randomJson } from '../../test/random-json.ts'
import { textsOf, eventsOfAnswer } from '../protocols/canonical/chat-answer.ts'
import { answerOf } from '../protocols/canonical/gathered-answer.ts'
import { countedUsage } from '../protocols/canonical/token-usage.ts'
import { responsesClient } from '../protocols/openai-responses/client.ts'
import { dialects } from './dialects.ts'
import { NO_CHANGES } from '../protocols/dialect/answer-changes.ts'
import { FollowedStream } from '../protocols/dialect/followed-stream.ts'
import { convertedOutput, splicedOutput } from '../protocols/dialect/stream-output.ts'

/**
 * For any input of a server or a client, the conversion returns a result or an error and never
 * throws anything else.
 */

const NAMES =
  'id type role object model content parts text thinking signature data index delta message choices ' +
  'candidates finish_reason finishReason stop_reason tool_calls function name arguments input ' +
  'functionCall args functionResponse response content_block partial_json usage usageMetadata error ' +
  'code status promptFeedback blockReason inlineData mimeType thought thoughtSignature reasoning_content ' +
  'reasoning_details messages contents tools tool_choice system systemInstruction generationConfig ' +
  'input_tokens output_tokens prompt_tokens completion_tokens promptTokenCount source image_url url ' +
  'tool_use_id tool_call_id thinkingConfig response_format json_schema schema stop max_tokens ' +
  'input instructions call_id output summary encrypted_content reasoning effort format ' +
  // Names that JavaScript itself looks up on objects.
  'toString valueOf constructor length'
const WORDS =
  'text image tool_use tool_result thinking redacted_thinking message_start content_block_start ' +
  'content_block_delta content_block_stop message_delta message_stop ping error user assistant model ' +
  'system tool function stop tool_calls STOP SAFETY text_delta input_json_delta signature_delta ' +
  'thinking_delta data:image/png;base64,AA== https://a.example/b json_schema enabled auto any ' +
  'message function_call function_call_output reasoning input_text output_text input_image high'

const { value, record } = randomJson(NAMES, WORDS)

const all = Object.values(dialects)
const names = Object.keys(dialects)
const clients = [...all, responsesClient({})]
const head = { id: 'id', model: 'm', nowSeconds: 1, wantsUsage: true }
const used = countedUsage(1, 1)
const eventOf = (sent: unknown) => {
  const data = Buffer.from(JSON.stringify(sent))
  return { raw: Buffer.concat([Buffer.from('data: '), data]), data, name: '', isTerminated: true }
}

describe.each(all)('$name', (dialect) => {
  test('reads any response, which every dialect can write', () => {
    fc.assert(
      fc.property(record, (answer) => {
        dialect.wholeAsEvents(answer, true)
        const reading = dialect.readAnswer(Buffer.from(JSON.stringify(answer)))
        if (reading.kind !== 'ok') return
        textsOf(reading.events())
        const read = answerOf(reading.events(), null)
        for (const other of clients) {
          expect(() => JSON.stringify(other.writeAnswer(read, head))).not.toThrow(/./)
          const writer = other.streamWriter(head)
          for (const event of eventsOfAnswer(read)) writer.write(event)
          writer.end(used)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('reads any stream, of which every client gets whole events', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(record, value), { maxLength: 8 }), (stream) => {
        const follower = new FollowedStream(dialect.readStream(), true)
        const outputs = clients.map((client) =>
          client === dialect
            ? splicedOutput(client, { framing: 'events', wantsUsage: false })
            : convertedOutput(client, NO_CHANGES, { framing: 'array', head }),
        )
        for (const sent of stream) {
          const event = eventOf(sent)
          const read = follower.read(event)
          for (const output of outputs) output.take(event, read)
          if (follower.isOver) break
        }
        const rest = follower.end()
        for (const output of outputs) output.end(used, rest)
        expect(follower.outcome('end')).toBeTypeOf('string')
      }),
      { numRuns: 300 },
    )
  })
})

test.each(clients.map((client, index) => [names[index] ?? 'responses', client] as const))(
  '%s: reads any request or refuses it, and so does whoever is to write it',
  (_name, client) => {
    fc.assert(
      fc.property(record, (body) => {
        for (const other of all) {
          try {
            const request = client.readRequest(body)
            other.writeRequest(request, { model: 'm', isStream: true, asksForUsage: true })
          } catch (error) {
            // Any other error is rethrown and fails the property.
            if (!(error instanceof AppError)) throw error
            expect(error.code).toMatch(/^relay_field_/)
          }
        }
      }),
      { numRuns: 500 },
    )
  },
)
