import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../app-error.ts'
import { randomJson } from '../../test/random-json.ts'
import { textsOf } from '../protocols/canonical/chat-answer.ts'
import { answerOf } from '../protocols/canonical/gathered-answer.ts'
import { USAGE_TOKENS_MAX, type TokenUsage } from '../protocols/canonical/token-usage.ts'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import { dialects } from '../conversion/dialects.ts'
import { NO_CHANGES } from '../protocols/dialect/answer-changes.ts'
import { FollowedStream } from '../protocols/dialect/followed-stream.ts'
import { convertedOutput } from '../protocols/dialect/stream-output.ts'
import { hiddenStatus } from '../errors/upstream-error.ts'

/** Readers of vendors' own dialects return a result or an error for any input; they never throw. */

const NAMES =
  'id type role content index delta message text finish_reason usage error code status data name ' +
  'done done_reason eval_count prompt_eval_count message tool_calls function arguments thinking ' +
  'finish_reason billed_units tokens input_tokens output_tokens tool_plan meta ' +
  'output stopReason inputTokens outputTokens cacheDetails ttl contentBlockIndex toolUse ' +
  'answer thought chat input_count output_count last_error msg ' +
  'translations billed_characters metrics input_token_count output_token_count ' +
  'Response Error ErrorMsg Code Msg Message Choices Delta FinishReason Usage PromptTokens TotalTokens ' +
  'error_code error_msg result function_call thoughts is_end is_truncated need_clear_history ' +
  'header payload choices sid reasoning_content prompt_tokens completion_tokens total_tokens ' +
  'response item output_index summary summary_index call_id encrypted_content incomplete_details ' +
  // Names that JavaScript itself looks up on objects.
  'toString valueOf constructor length'
const WORDS =
  'text message_start content-start content-delta message-end tool-call-delta stop length COMPLETE ' +
  'ERROR succeeded failed processing output done error prediction conversation.message.delta ' +
  'response.output_item.added response.output_item.done response.reasoning_summary_part.added ' +
  'response.function_call_arguments.delta response.completed response.failed function_call reasoning ' +
  'conversation.chat.completed conversation.chat.failed answer {} {"usage":{"input_count":1e9}}'

const { value, record } = randomJson(NAMES, WORDS)

const natives = Object.values(upstreamDialects).filter(({ name }) => !Object.hasOwn(dialects, name))
const head = { id: 'id', model: 'm', nowSeconds: 1, wantsUsage: true }

function expectPlausible(usage: TokenUsage | null): void {
  if (usage === null) return
  const { extras: _extras, ...figures } = usage
  for (const figure of Object.values(figures)) {
    expect(Number.isInteger(figure) && figure >= 0 && figure <= USAGE_TOKENS_MAX).toBe(true)
  }
}

test('there are vendors with their own dialect', () => {
  expect(natives.length).toBeGreaterThan(5)
})

describe.each(natives)('$name', (dialect) => {
  test('reads any response', () => {
    fc.assert(
      fc.property(record, (answer) => {
        const bytes = Buffer.from(JSON.stringify(answer))
        const reading = dialect.readAnswer(bytes)
        if (reading.kind === 'error') {
          expect(hiddenStatus(reading.error, dialect)).toBeGreaterThanOrEqual(400)
        }
        if (reading.kind !== 'ok') return
        expectPlausible(reading.usage.usage)
        textsOf(reading.events())
        JSON.stringify(dialects.openai.writeAnswer(answerOf(reading.events(), null), head))
      }),
      { numRuns: 300 },
    )
  })

  test('follows any stream', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(record, value), { maxLength: 8 }), (stream) => {
        const follower = new FollowedStream(dialect.readStream(), true)
        const output = convertedOutput(dialects.openai, NO_CHANGES, { framing: 'events', head })
        for (const sent of stream) {
          const data = Buffer.from(JSON.stringify(sent))
          const event = { raw: data, data, name: '', isTerminated: true }
          output.take(event, follower.read(event))
          if (follower.isOver) break
        }
        expectPlausible(follower.usage.usage)
        expect(follower.outcome('end')).toBeTypeOf('string')
      }),
      { numRuns: 300 },
    )
  })

  test('writes any request, or rejects it by the name of the unsupported member', () => {
    const asked = fc.record(
      {
        messages: fc.array(
          fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content: value }),
          { maxLength: 4 },
        ),
        tools: fc.constantFrom(undefined, [], [{ type: 'function', function: { name: 'f' } }]),
        tool_choice: fc.constantFrom(undefined, 'auto', 'none', 'required'),
        temperature: fc.constantFrom(undefined, 0, 2, -1, 1e308),
        stop: fc.constantFrom(undefined, 'end', ['a', 'b']),
        max_tokens: fc.constantFrom(undefined, 0, 1, 1000),
      },
      { requiredKeys: ['messages'] },
    )
    const to = { model: 'owner/m', isStream: true, asksForUsage: false }
    fc.assert(
      fc.property(asked, (body) => {
        try {
          dialect.writeRequest(dialects.openai.readRequest({ ...body }), to)
        } catch (error) {
          // Any other error is rethrown and fails the property.
          if (!(error instanceof AppError)) throw error
          expect(error.code).toMatch(/^relay_field_/)
        }
      }),
      { numRuns: 200 },
    )
  })
})
