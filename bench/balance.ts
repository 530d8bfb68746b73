import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { createGatehouse, ROOT_PASSWORD } from './gatehouse-server.ts'
import { createChannel, createToken, giveQuota, signIn } from './management-client.ts'

const PASSWORD = 'UserPass1'
/** Points per prompt token and per completion token; the fake upstream reports 11 prompt tokens. */
const PROMPT_POINTS = 1.25
const REPLY_POINTS = 5
const PROMPT_TOKENS = 11

interface Case {
  name: string
  /** Balance of the account, in points. */
  balance: number
  calls: number
  /** Instructions in the model name for the fake upstream. */
  words: string
  isStream?: boolean
  /** Quota of the token; unlimited if not set. */
  tokenQuota?: number
}

const costOf = (replyTokens: number): number =>
  Math.ceil(PROMPT_TOKENS * PROMPT_POINTS + replyTokens * REPLY_POINTS)

const CASES: readonly Case[] = [
  {
    name: 'a lone call on a small balance',
    balance: 700,
    calls: 1,
    words: 'tokens-16000+obey-max',
  },
  { name: '20 at once, long replies', balance: 52_000, calls: 20, words: 'tokens-16000+obey-max' },
  {
    name: '20 short ones at once, 0.3 s each, balance as much as they cost',
    balance: 20 * costOf(100),
    calls: 20,
    words: 'tokens-100+obey-max+slow-300',
  },
  {
    name: 'a stream that ignores its limit',
    balance: 2600,
    calls: 1,
    words: 'tokens-16000+chunks-16000',
    isStream: true,
  },
  {
    name: '20 at once on a limited token',
    balance: 10_000_000,
    tokenQuota: 20_000,
    calls: 20,
    words: 'tokens-16000+obey-max',
  },
]

/**
 * npm run bench -- balance
 *
 * Sends calls that exceed small balances to a server with default settings. Prints which calls were
 * served, rejected or cut, what they took from the balance, and how long they took.
 */
export async function main(): Promise<void> {
  const upstream = await startFakeUpstream()
  const gatehouse = await createGatehouse({ database: 'sqlite' })
  const server = await gatehouse.start()
  const rows: object[] = []
  try {
    for (const [index, one] of CASES.entries()) {
      rows.push(await runCase(gatehouse.url, upstream.url, one, index))
    }
  } finally {
    await server.stop()
    await gatehouse.remove()
    await upstream.close()
  }
  console.table(rows)
}

async function runCase(url: string, upstream: string, one: Case, index: number): Promise<object> {
  const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
  const model = `gpt-4o-${index}`
  await createChannel(root, { name: model, base_url: `${upstream}/~${one.words}`, models: model })
  for (const [key, ratio] of [
    ['ModelRatio', PROMPT_POINTS],
    ['CompletionRatio', REPLY_POINTS / PROMPT_POINTS],
  ] as const) {
    const value = JSON.stringify(Object.fromEntries(CASES.map((_, at) => [`gpt-4o-${at}`, ratio])))
    await root.call('PUT', '/api/option/', { key, value })
  }
  const account = { username: `poor${index}x`, password: PASSWORD, display_name: 'poor' }
  await root.call('POST', '/api/user/', account)
  await giveQuota(root, account.username, one.balance)
  const user = await signIn({ url, ...account })
  const key = await createToken(user, {
    name: 't',
    remain_quota: one.tokenQuota ?? 0,
    unlimited_quota: one.tokenQuota === undefined,
  })
  const began = performance.now()
  const answers = await Promise.all(
    Array.from({ length: one.calls }, () => ask(url, key, model, one.isStream === true)),
  )
  const seconds = (performance.now() - began) / 1000
  const self = Object(await user.call('GET', '/api/user/self'))
  return {
    case: one.name,
    balance: one.balance,
    served: answers.filter(({ status }) => status === 200).length,
    refused: answers.filter(({ status }) => status !== 200).length,
    cut: answers.filter(({ isCut }) => isCut).length,
    taken: one.balance - Number(self.quota),
    seconds: Number(seconds.toFixed(1)),
  }
}

async function ask(
  url: string,
  key: string,
  model: string,
  isStream: boolean,
): Promise<{ status: number; isCut: boolean }> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: isStream,
      messages: [{ role: 'user', content: 'What is the answer?' }],
    }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    isCut: /"finish_reason":\s*"length"|"error"/.test(text) && answer.status === 200,
  }
}
