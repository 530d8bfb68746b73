import type { Language } from '../../../contract/errors.ts'
import type { ChannelKey, RouteForecast, RouteQuestion } from '../../../contract/route-api.ts'
import type { StoredChannel } from '../../channel/channel-store.ts'

/** What the relay tells of its choices. */
export interface Routing {
  forecast(question: RouteQuestion, language: Language): Promise<RouteForecast>
  keyHealth(channel: StoredChannel): Promise<ChannelKey[]>
}
