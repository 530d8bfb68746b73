import { useTranslation } from 'react-i18next'
import { StateDot, type Tone } from '../../ui/marks.tsx'
import { mark } from '../i18n.ts'

/** Names of the numbers of a status. Chinese, translated where displayed. */
export type StateNames = ReadonlyMap<number, { tone: Tone; name: string }>

/** A status as a dot and a word. A number that only newer servers have is shown as unknown. */
export function StateName({ states, status }: { states: StateNames; status: number }) {
  const { t } = useTranslation()
  const { tone, name } = states.get(status) ?? { tone: 'off', name: mark('未知状态') }
  return <StateDot tone={tone}>{t(name)}</StateDot>
}
