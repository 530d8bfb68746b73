import { Agent } from 'undici'
import { openApiDocument } from '../../src/server/http/openapi/openapi.ts'
import { optionKeys } from '../../src/contract/option/options.ts'
import { aChannel, aToken, aUser } from '../../src/server/test/factories.ts'
import type { OpenTestDatabase } from '../../src/server/test/for-each-database.ts'
import { startTestServer } from '../../src/server/test/test-app.ts'
import { runFuzz, type CallerKind, type FuzzResult } from './run-fuzz.ts'
import { NOWHERE } from './values.ts'

/** Keeps all traffic on this machine, for any random option. */
const CLOSED = {
  RELAY_PROXY: NOWHERE,
  GITHUB_BASE_URL: NOWHERE,
  GITHUB_API_BASE_URL: NOWHERE,
  LARK_BASE_URL: NOWHERE,
  LARK_API_BASE_URL: NOWHERE,
  TURNSTILE_BASE_URL: NOWHERE,
}

const ROLES: Record<Exclude<CallerKind, 'nobody'>, number> = { user: 1, admin: 10, root: 100 }
const PARALLEL = 8
/** Deleting log rows may take twenty seconds; a response that takes longer than this is missing. */
const ANSWER_MS_MAX = 60_000
const QUOTA = 1_000_000

/**
 * Makes random calls to a real server with a fresh database. Throws if the books do not balance
 * afterwards; `faults` are errors that the server logged.
 */
export async function fuzzServer(
  open: OpenTestDatabase,
  { calls, seed }: { calls: number; seed: number },
): Promise<FuzzResult & { faults: string[] }> {
  const server = await startTestServer(open, CLOSED)
  const dispatcher = new Agent({
    connections: PARALLEL,
    headersTimeout: ANSWER_MS_MAX,
    bodyTimeout: ANSWER_MS_MAX,
  })
  const owner = await aUser(server, { username: '名字1', quota: QUOTA })
  for (let index = 0; index < 3; index += 1) {
    await aToken(server, owner.id)
    await aChannel(server, { base_url: NOWHERE })
  }
  const result = await runFuzz({
    url: server.url,
    document: openApiDocument({ version: 'v0.0.0', basePath: '/' }),
    calls,
    seed,
    parallel: PARALLEL,
    dispatcher,
    names: {
      key: optionKeys,
      action: ['promote', 'demote', 'delete', 'disable', 'enable'],
      username: ['root', '名字1', '名字2', '名字3'],
      base_url: [NOWHERE, `${NOWHERE}/`, ''],
    },
    async caller(kind) {
      if (kind === 'nobody') return {}
      const user = await aUser(server, { role: ROLES[kind], quota: QUOTA })
      return { cookie: user.cookie }
    },
  })
  await dispatcher.destroy()
  await server.close()
  return { ...result, faults: server.faults }
}
