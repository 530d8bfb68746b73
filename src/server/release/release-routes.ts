import { releaseApi } from '../../contract/release-api.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { createLatestRelease } from './latest-release.ts'

export function releaseRoutes(app: App): Route[] {
  const latestRelease = createLatestRelease(app)
  return [serve(releaseApi.latest, async () => ({ data: await latestRelease() }))]
}
