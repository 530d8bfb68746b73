/**
 * Endpoints, by `METHOD path`, whose response may omit `data`. The console rejects a response of
 * any other endpoint without it. The list is kept apart from the schemas so that the browser does
 * not load them; `answers-without-data.test.ts` compares the two.
 */
export const answersWithoutData: ReadonlySet<string> = new Set([
  'DELETE /api/channel/:id',
  'DELETE /api/model-capabilities/refresh',
  'DELETE /api/oauth/:provider',
  'DELETE /api/redemption/:id',
  'DELETE /api/token/:id',
  'DELETE /api/user/:id',
  'DELETE /api/user/self',
  'GET /api/channel/test',
  'GET /api/channel/test/:id',
  'GET /api/channel/update_balance',
  'GET /api/channel/update_balance/:id',
  'GET /api/oauth/email/bind',
  'GET /api/oauth/github',
  'GET /api/oauth/lark',
  'GET /api/oauth/oidc',
  'GET /api/oauth/wechat/bind',
  'GET /api/reset_password',
  'GET /api/user/logout',
  'GET /api/verification',
  'POST /api/channel/',
  'POST /api/channel/batch/test',
  'POST /api/mail/test',
  'POST /api/topup',
  'POST /api/user/',
  'POST /api/user/register',
  'PUT /api/option/',
  'PUT /api/prices/',
  'PUT /api/user/',
  'PUT /api/user/self',
])
