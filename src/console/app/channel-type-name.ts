import type { TFunction } from 'i18next'
import { channelType, channelTypesInListOrder } from '../../contract/channel-types.ts'
import { localText } from './i18n.ts'

/** The name of a channel type; one that newer or other programs wrote shows its number. */
export function typeName(type: number, t: TFunction): string {
  const isKnown = channelTypesInListOrder.some((row) => row.type === type)
  return isKnown ? localText(channelType(type).label) : t('未知类型 {{type}}', { type })
}
