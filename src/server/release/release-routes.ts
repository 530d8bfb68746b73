import { releaseApi } from '../../contract/release-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { createLatestRelease } from './latest-release.ts'

export function releaseRoutes(app: App): Route[] {
  const latestRelease = createLatestRelease(app)
  return [
    serve(releaseApi.latest, async ({ actor }) => {
      if (actor.role < app.config.OPTIONS_MIN_ROLE) throw new AppError('role_too_low')
      return { data: await latestRelease() }
    }),
  ]
}
