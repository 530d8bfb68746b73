import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/**
 * Every route of a One API server and the lowest role that may call it. Taken from One API and not
 * from our contract, which could miss one.
 */
const ROUTES: [number, string][] = [
  [0, 'GET /api/status'],
  [1, 'GET /api/models'],
  [0, 'GET /api/notice'],
  [0, 'GET /api/about'],
  [0, 'GET /api/home_page_content'],
  [0, 'GET /api/verification'],
  [0, 'GET /api/reset_password'],
  [0, 'POST /api/user/reset'],
  [0, 'GET /api/oauth/github'],
  [0, 'GET /api/oauth/oidc'],
  [0, 'GET /api/oauth/lark'],
  [0, 'GET /api/oauth/state'],
  [0, 'GET /api/oauth/wechat'],
  [1, 'GET /api/oauth/wechat/bind'],
  [1, 'GET /api/oauth/email/bind'],
  [10, 'POST /api/topup'],
  [0, 'POST /api/user/register'],
  [0, 'POST /api/user/login'],
  [0, 'GET /api/user/logout'],
  [1, 'GET /api/user/dashboard'],
  [1, 'GET /api/user/self'],
  [1, 'PUT /api/user/self'],
  [1, 'DELETE /api/user/self'],
  [1, 'GET /api/user/token'],
  [1, 'GET /api/user/aff'],
  [1, 'POST /api/user/topup'],
  [1, 'GET /api/user/available_models'],
  [10, 'GET /api/user/'],
  [10, 'POST /api/user/'],
  [10, 'PUT /api/user/'],
  [10, 'GET /api/user/search'],
  [10, 'GET /api/user/999999'],
  [10, 'DELETE /api/user/999999'],
  [10, 'POST /api/user/manage'],
  [100, 'GET /api/option/'],
  [100, 'PUT /api/option/'],
  [10, 'GET /api/channel/'],
  [10, 'POST /api/channel/'],
  [10, 'PUT /api/channel/'],
  [10, 'GET /api/channel/search'],
  [10, 'GET /api/channel/models'],
  [10, 'GET /api/channel/999999'],
  [10, 'DELETE /api/channel/999999'],
  [10, 'GET /api/channel/test'],
  [10, 'GET /api/channel/test/999999'],
  [10, 'GET /api/channel/update_balance'],
  [10, 'GET /api/channel/update_balance/999999'],
  [10, 'DELETE /api/channel/disabled'],
  [1, 'GET /api/token/'],
  [1, 'POST /api/token/'],
  [1, 'PUT /api/token/'],
  [1, 'GET /api/token/search'],
  [1, 'GET /api/token/999999'],
  [1, 'DELETE /api/token/999999'],
  [10, 'GET /api/redemption/'],
  [10, 'POST /api/redemption/'],
  [10, 'PUT /api/redemption/'],
  [10, 'GET /api/redemption/search'],
  [10, 'GET /api/redemption/999999'],
  [10, 'DELETE /api/redemption/999999'],
  [10, 'GET /api/log/'],
  [10, 'DELETE /api/log/'],
  [10, 'GET /api/log/stat'],
  [10, 'GET /api/log/search'],
  [1, 'GET /api/log/self'],
  [1, 'GET /api/log/self/stat'],
  [1, 'GET /api/log/self/search'],
  [10, 'GET /api/group/'],
]

/** The roles in ascending order; 0 is not signed in. */
const ROLES = [0, Role.user, Role.admin, Role.root]

forEachDatabase('the routes of One API', (open) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer(open, { OPTIONS_MIN_ROLE: '100' })
  })
  afterAll(() => server.close())

  async function call(route: string, role: number) {
    const [method = '', path = ''] = route.split(' ')
    // A separate caller, because some routes end the session or the account.
    const as = role === 0 ? {} : await aUser(server, { role })
    return server.call(method, path, { as, ...(method === 'GET' ? {} : { body: {} }) })
  }

  describe.each(ROUTES)('from role %i: %s', (least, route) => {
    test('rejects lower roles and responds to the others', async () => {
      const [method = '', path = ''] = route.split(' ')
      const tooLow = await call('GET /api/user/', Role.user)
      for (const role of ROLES) {
        const answer = await call(route, role)
        const said = [role, answer.status, answer.json['success'], answer.message]
        if (role >= least) {
          expect([200, 400, 403]).toContain(answer.status)
          expect(said).not.toEqual([role, 200, false, tooLow.message])
          // Only options return 400, and only external sign-in without its state 403.
          if (answer.status === 400) expect(path).toBe('/api/option/')
          if (answer.status === 403) expect(path).toMatch(/^\/api\/oauth\//)
        } else if (role === 0) {
          expect(said).toEqual([0, 401, false, expect.stringMatching(/./)])
        } else {
          expect(said).toEqual([role, 200, false, tooLow.message])
        }
      }
      // Wrong credentials are not treated as missing.
      if (least === 0) return
      const wrong = { authorization: 'Bearer 0123456789abcdef0123456789abcdef' }
      const refused = await server.call(method, path, { headers: wrong, body: {} })
      expect([refused.status, refused.json['success']]).toEqual([200, false])
    })
  })
})
