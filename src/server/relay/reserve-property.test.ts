import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forEachDatabase } from '../test/for-each-database.ts'
import { aClient, aServedModel, chatBody, post, quotaOf, stream } from '../test/relay-setup.ts'
import type { RelayClient, RelaySetup } from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'
import { anAdmin, type TestUser } from '../test/factories.ts'

/** Points that one call may cost beyond its reservation: the error of the estimated prompt tokens. */
const PROMPT_ERROR = 8

interface Call {
  /** Tokens that the model would write. */
  size: number
  /** The client's output limit; null if not set. */
  limit: number | null
  choices: number
  isStream: boolean
}

type Step = { kind: 'calls'; calls: Call[] } | { kind: 'credit'; points: number }

const SIZES = [1, 60, 700, 5000]

const call: fc.Arbitrary<Call> = fc.record({
  size: fc.constantFrom(...SIZES),
  limit: fc.option(fc.integer({ min: 1, max: 2000 })),
  choices: fc.constantFrom(1, 1, 2),
  isStream: fc.boolean(),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      calls: fc.array(call, { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('credit' as const),
      points: fc.integer({ min: 1, max: 3000 }),
    }),
  },
)

forEachDatabase('any sequence of parallel calls and credits', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { open })

  async function take(
    client: RelayClient,
    admin: TestUser,
    models: Map<number, string>,
    next: Step,
  ): Promise<number> {
    if (next.kind === 'credit') {
      const body = { user_id: client.userId, quota: next.points, remark: 'credit' }
      await setup.call('POST', '/api/topup', { as: admin, body })
      return 0
    }
    const statuses = await Promise.all(
      next.calls.map(async ({ size, limit, choices, isStream }) => {
        const said = { ...(limit === null ? {} : { max_tokens: limit }), n: choices }
        const body = chatBody(models.get(size) ?? '', said)
        return (await (isStream ? stream : post)(setup, client, body)).status
      }),
    )
    // A client receives one of these in every case.
    expect(statuses.filter((status) => ![200, 401, 403, 429].includes(status))).toEqual([])
    return statuses.filter((status) => status === 200).length
  }

  test('consumes no more than was credited, but for what prompts are miscounted by', async () => {
    const admin = await anAdmin(setup)
    const models = new Map<number, string>()
    for (const size of SIZES) models.set(size, await aServedModel(setup, `tokens-${size}+obey-max`))
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          quota: fc.integer({ min: 0, max: 4000 }),
          tokenQuota: fc.option(fc.integer({ min: 1, max: 3000 })),
          steps: fc.array(step, { minLength: 1, maxLength: 5 }),
        }),
        async ({ quota, tokenQuota, steps }) => {
          const token =
            tokenQuota === null
              ? {}
              : { token: { unlimited_quota: false, remain_quota: tokenQuota } }
          const client = await aClient(setup, { quota, ...token })
          for (const next of steps) {
            const before = await quotaOf(setup, client.userId)
            const served = await take(client, admin, models, next)
            const after = await quotaOf(setup, client.userId)
            if (before >= 0) expect(after).toBeGreaterThanOrEqual(-served * PROMPT_ERROR)
            else expect(served).toBe(0)
          }
          const { remain_quota: left } = await setup.database.read
            .selectFrom('tokens')
            .select('remain_quota')
            .where('id', '=', client.tokenId)
            .executeTakeFirstOrThrow()
          const calls = steps.flatMap((one) => (one.kind === 'calls' ? one.calls : []))
          if (tokenQuota !== null) expect(left).toBeGreaterThanOrEqual(-calls.length * PROMPT_ERROR)
        },
      ),
      { numRuns: 12 },
    )
  })
})
