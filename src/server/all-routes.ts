import { accessTokenRoutes } from './access-token/access-token-routes.ts'
import { ownAccountRoutes } from './account/own-account-routes.ts'
import { passwordResetRoutes } from './account/password-reset-routes.ts'
import { registrationRoutes } from './account/registration-routes.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { channelRoutes } from './channel/channel-routes.ts'
import { dashboardRoutes } from './dashboard/dashboard-routes.ts'
import { limitRoutes } from './limit/limit-routes.ts'
import { logRoutes } from './log/log-routes.ts'
import { optionRoutes } from './option/option-routes.ts'
import { routeRoutes } from './relay/forecast/route-routes.ts'
import { modelRoutes } from './model/model-routes.ts'
import { publishedPricesRoutes } from './published-prices/published-prices-routes.ts'
import { releaseRoutes } from './release/release-routes.ts'
import { redemptionRoutes } from './redemption/redemption-routes.ts'
import { oauthRoutes } from './sign-in/oauth-routes.ts'
import { statusRoutes } from './status/status-routes.ts'
import { tokenRoutes } from './token/token-routes.ts'
import { sessionRoutes } from './sign-in/session-routes.ts'
import { passkeyRoutes } from './passkey/passkey-routes.ts'
import { secondFactorRoutes } from './second-factor/second-factor-routes.ts'
import { accountRoutes } from './user/account-routes.ts'
import { signInRoutes } from './user/sign-in-routes.ts'
import { userRoutes } from './user/user-routes.ts'
import type { App } from './app.ts'
import type { Route } from './http/handler.ts'
import type { LogCleanup } from './log/cleanup/cleanup-run.ts'
import { createFileSender } from './log/export/send-file.ts'
import type { Relay } from './relay/relay.ts'

/** Returns the routes of the management API. */
export function allRoutes(
  app: App,
  { relay, cleanup, stopping }: { relay: Relay; cleanup: LogCleanup; stopping: AbortSignal },
): Route[] {
  const sendFile = createFileSender()
  return [
    ...statusRoutes(app),
    ...signInRoutes(app),
    ...oauthRoutes(app),
    ...secondFactorRoutes(app),
    ...passkeyRoutes(app),
    ...sessionRoutes(app),
    ...accessTokenRoutes(app),
    ...accountRoutes(app),
    ...registrationRoutes(app),
    ...passwordResetRoutes(app),
    ...ownAccountRoutes(app),
    ...userRoutes(app),
    ...tokenRoutes(app),
    ...limitRoutes(app),
    ...channelRoutes(app, {
      probe: relay.probe,
      egress: relay.egress,
      stopping,
    }),
    ...routeRoutes(app, relay.routing),
    ...redemptionRoutes(app),
    ...logRoutes(app, { cleanup, sendFile }),
    ...dashboardRoutes(app, sendFile),
    ...optionRoutes(app),
    ...releaseRoutes(app),
    ...publishedPricesRoutes(app),
    ...modelRoutes(app),
    ...auditRoutes(app, sendFile),
  ]
}
