import type { Language } from '../../../contract/errors.ts'
import type { ChannelKey, RouteForecast, RouteQuestion } from '../../../contract/route-api.ts'
import type { StoredChannel } from '../../channel/channel-store.ts'

/** The relay's routing forecasts. */
export interface Routing {
  forecast(question: RouteQuestion, language: Language): Promise<RouteForecast>
  keyHealth(channel: StoredChannel): Promise<ChannelKey[]>
}
