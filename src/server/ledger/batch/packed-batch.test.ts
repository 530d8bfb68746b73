import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LedgerOperation, LedgerResult, Settlement } from '../operations.ts'
import { packOperations, packResults, unpackOperations, unpackResults } from './packed-batch.ts'

const figure = fc.oneof(fc.maxSafeNat(), fc.double())
const text = fc.string({ unit: 'binary' })

const settlement: fc.Arbitrary<Settlement> = fc.record({
  requestId: text,
  nowSeconds: figure,
  userId: figure,
  tokenId: figure,
  channelId: figure,
  cost: figure,
  promptTokens: figure,
  completionTokens: figure,
  username: text,
  tokenName: text,
  modelName: text,
  detail: text,
  content: text,
  elapsedMs: figure,
  isStream: fc.boolean(),
  systemPromptReset: fc.boolean(),
  keepLog: fc.boolean(),
})

const operation: fc.Arbitrary<LedgerOperation> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('reserve' as const),
      requestId: text,
      userId: figure,
      tokenId: figure,
      amount: figure,
      tokens: figure,
      nowSeconds: figure,
      node: text,
    },
    { requiredKeys: ['kind', 'requestId', 'userId', 'tokenId', 'amount', 'nowSeconds', 'node'] },
  ),
  fc.record({ kind: fc.constantFrom('settle' as const, 'checkpoint' as const), settlement }),
  fc.record({ kind: fc.constant('release' as const), requestId: text }),
)

const facts = fc.array(
  fc.record({
    subject: fc.constantFrom('user' as const, 'token' as const),
    requestsMax: figure,
    tokensMax: figure,
    callsMax: figure,
    dayMax: figure,
    weekMax: figure,
    monthMax: figure,
    running: figure,
    heldTokens: figure,
    heldQuota: figure,
    dayUsed: figure,
    weekUsed: figure,
    monthUsed: figure,
    minuteRequests: figure,
    minuteTokens: figure,
    seconds: fc.array(fc.tuple(figure, figure, figure)),
  }),
)

const result: fc.Arbitrary<LedgerResult> = fc.oneof(
  fc.record({ kind: fc.constant('reserved' as const), facts }, { requiredKeys: ['kind'] }),
  fc.record({ kind: fc.constant('limited' as const), facts }),
  fc.record({
    kind: fc.constant('refused' as const),
    reason: fc.constantFrom('user_unavailable' as const, 'token_quota' as const),
  }),
  fc.record({
    kind: fc.constant('settled' as const),
    charged: figure,
    debt: figure,
    userQuota: figure,
  }),
  fc.record({ kind: fc.constant('checkpointed' as const), held: figure }),
  fc.record({ kind: fc.constant('released' as const) }),
  fc.record({ kind: fc.constant('closed' as const) }),
  fc.record({ kind: fc.constant('invalid' as const), message: text }),
)

test('operations are unchanged after packing and unpacking', () => {
  fc.assert(
    fc.property(fc.array(operation), (operations) => {
      expect(unpackOperations(structuredClone(packOperations(operations)))).toEqual(operations)
    }),
  )
})

test('results are unchanged after packing and unpacking', () => {
  fc.assert(
    fc.property(fc.array(result), (results) => {
      expect(unpackResults(structuredClone(packResults(results)))).toEqual(results)
    }),
  )
})
