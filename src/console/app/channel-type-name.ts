import type { TFunction } from 'i18next'
import { channelType, channelTypesInListOrder } from '../../contract/channel-types.ts'
import { localText } from './i18n.ts'

/** Name of a channel type; a type that newer or other programs wrote is shown by its number. */
export function typeName(type: number, t: TFunction): string {
  const isKnown = channelTypesInListOrder.some((row) => row.type === type)
  return isKnown ? localText(channelType(type).label) : t('未知类型 {{type}}', { type })
}
