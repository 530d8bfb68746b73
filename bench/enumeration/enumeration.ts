import os from 'node:os'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { RedemptionStatus } from '../../src/contract/redemption.ts'
import { updateRedemption } from '../../src/server/redemption/redemption-store.ts'
import { aRedemption, aUser } from '../../src/server/test/factories.ts'
import { mailThrough, startMailbox } from '../../src/server/test/mailbox.ts'
import { startTestServer, type TestServer } from '../../src/server/test/test-app.ts'
import { databaseKinds, freshDatabases } from '../fresh-databases.ts'
import { rankTest, type RankTest } from './rank-test.ts'
import { describeMachine, machineClock, markdownTable, median, publish } from '../report.ts'

/** Number of existing accounts and codes, and of names that do not exist. */
const EXISTING = 50
const WARM_UP = 50

/** A request of an attacker; `body` is null for a request without one. */
interface Guess {
  method: 'GET' | 'POST'
  path: string
  body: object | null
}

/** Two guesses whose responses must be indistinguishable: for something that exists, and not. */
interface Question {
  what: string
  cookie?: string
  there(index: number): Guess
  notThere(index: number): Guess
  /** Runs before each guess, outside of the measured time. */
  before?(index: number): Promise<void>
}

interface Answer {
  what: string
  database: string
  /** Whether both kinds get the same status and bytes in all samples. */
  sameResponse: boolean
  thereMs: number
  notThereMs: number
  rank: RankTest
}

/**
 * npm run bench -- enumeration [--samples 1000] [--database sqlite,postgres] [--only redeeming]
 *
 * Tests whether sign-in, reset, registration and redemption reveal, by content or timing, which
 * accounts and codes exist.
 */
export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      samples: { type: 'string', default: '1000' },
      database: { type: 'string', default: 'sqlite,postgres' },
      only: { type: 'string', default: '' },
    },
  })
  const start = machineClock()
  const loadBefore = os.loadavg()[0] ?? 0
  const answers: Answer[] = []
  for (const kind of databaseKinds(values.database)) {
    const databases = await freshDatabases(kind)
    const server = await startTestServer(databases.open)
    const mailbox = await startMailbox()
    try {
      for (const question of await questions(server, mailbox)) {
        if (!question.what.includes(values.only)) continue
        const asked = await ask(server, question, Number(values.samples))
        answers.push({ what: question.what, database: kind, ...asked })
        process.stderr.write(`${kind}: ${question.what}\n`)
      }
    } finally {
      await server.close()
      await mailbox.close()
      await databases.remove()
    }
  }
  publish('enumeration', described(answers, describeMachine(start, loadBefore)), answers)
  if (answers.some(({ sameResponse }) => !sameResponse)) process.exitCode = 1
}

async function questions(
  server: TestServer,
  mailbox: Awaited<ReturnType<typeof startMailbox>>,
): Promise<Question[]> {
  await mailThrough(server, mailbox)
  await server.app.options.set('EmailVerificationEnabled', 'true')
  for (let index = 0; index < EXISTING; index += 1) {
    await aUser(server, { username: `there${index}`, email: `there${index}@example.test` })
  }
  const guesser = await aUser(server)
  const codes: string[] = []
  for (let index = 0; index < EXISTING; index += 1) {
    const { id, key } = await aRedemption(server, guesser.id)
    await updateRedemption(server.database.write, id, { status: RedemptionStatus.disabled })
    codes.push(key)
  }
  const nth = (word: string, index: number): string => `${word}${index % EXISTING}`
  const at = (word: string, index: number): string => `${nth(word, index)}@example.test`
  const post = (path: string, body: object): Guess => ({ method: 'POST', path, body })
  const get = (path: string): Guess => ({ method: 'GET', path, body: null })
  const pair = (guess: (word: string, index: number) => Guess) => ({
    there: (index: number) => guess('there', index),
    notThere: (index: number) => guess('nowhere', index),
  })
  const idle = (): Promise<void> => server.app.background.idle()
  const password = 'not-the-password'
  return [
    {
      what: 'sign-in by name',
      ...pair((word, index) => post('/api/user/login', { username: nth(word, index), password })),
    },
    {
      what: 'sign-in by e-mail address',
      ...pair((word, index) => post('/api/user/login', { username: at(word, index), password })),
    },
    {
      what: 'asking for a reset',
      before: idle,
      ...pair((word, index) => get(`/api/reset_password?email=${at(word, index)}`)),
    },
    {
      what: 'a wrong reset link, after asking',
      async before(index) {
        for (const word of ['there', 'nowhere']) {
          await server.call('GET', `/api/reset_password?email=${at(word, index)}`)
        }
        await idle()
      },
      ...pair((word, index) =>
        post('/api/user/reset', { email: at(word, index), token: 'f'.repeat(32) }),
      ),
    },
    {
      what: 'asking for a code to register',
      ...pair((word, index) => get(`/api/verification?email=${at(word, index)}`)),
    },
    {
      what: 'registering a name, with a wrong code',
      ...pair((word, index) =>
        post('/api/user/register', {
          username: nth(word, index),
          password: 'password-1',
          email: `new${index % EXISTING}@example.test`,
          verification_code: '222222',
        }),
      ),
    },
    {
      what: 'redeeming a disabled code',
      cookie: guesser.cookie,
      there: (index) => post('/api/user/topup', { key: codes[index % EXISTING] ?? '' }),
      notThere: (index) =>
        post('/api/user/topup', { key: String(index % EXISTING).padStart(32, '0') }),
    },
  ]
}

/**
 * Sends requests sequentially, each of a random kind, so that side effects of one affect both
 * kinds.
 */
async function ask(
  server: TestServer,
  question: Question,
  samples: number,
): Promise<Pick<Answer, 'sameResponse' | 'thereMs' | 'notThereMs' | 'rank'>> {
  const agent = new Agent({ connections: 1, pipelining: 1 })
  const words = { there: new Set<string>(), notThere: new Set<string>() }
  const times: Record<'there' | 'notThere', number[]> = { there: [], notThere: [] }
  for (let index = 0; index < WARM_UP + 2 * samples; index += 1) {
    const kind = Math.random() < 0.5 ? 'there' : 'notThere'
    const guess = question[kind](index)
    await question.before?.(index)
    const beganMs = performance.now()
    const answer = await request(server.url + guess.path, {
      dispatcher: agent,
      method: guess.method,
      ...(question.cookie === undefined ? {} : { headers: { cookie: question.cookie } }),
      body: guess.body === null ? null : JSON.stringify(guess.body),
    })
    const text = await answer.body.text()
    const tookMs = performance.now() - beganMs
    if (index < WARM_UP) continue
    words[kind].add(`${answer.statusCode} ${text}`)
    times[kind].push(tookMs)
  }
  await agent.close()
  return {
    sameResponse: [...words.there].toSorted().join() === [...words.notThere].toSorted().join(),
    thereMs: median(times.there),
    notThereMs: median(times.notThere),
    rank: rankTest(times.there, times.notThere),
  }
}

function described(answers: readonly Answer[], machine: string): string {
  const table = markdownTable({
    columns: ['guess', 'database', 'same words', 'exists, ms', 'does not, ms', 'slower', 'p'],
    rows: answers.map(({ what, database, sameResponse, thereMs, notThereMs, rank }) => [
      what,
      database,
      sameResponse ? 'yes' : 'no',
      thereMs.toFixed(3),
      notThereMs.toFixed(3),
      `${(rank.share * 100).toFixed(1)} %`,
      rank.p.toFixed(3),
    ]),
  })
  return `# What guesses reveal\n\n${machine}\n\n${table}`
}
