import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { LeaveQuestion } from '../../app/form/leave-question.tsx'
import { Loading } from '../../ui/loading.tsx'
import { LoadError } from '../../ui/states.tsx'
import { type Options, useOptions } from './options.ts'
import { UnsavedGroups } from './unsaved.ts'

/** Renders its children with the loaded options, and asks before unsaved edits are lost. */
export function WithOptions({ children }: { children: (options: Options) => ReactNode }) {
  const { t } = useTranslation()
  const { options, error, retry } = useOptions()
  const [unsaved] = useState(() => new Set<string>())
  if (options !== null) {
    return (
      <UnsavedGroups value={unsaved}>
        {children(options)}
        <LeaveQuestion isNeeded={() => unsaved.size > 0} />
      </UnsavedGroups>
    )
  }
  if (error !== null) return <LoadError what={t('设置')} error={error} onRetry={retry} />
  return <Loading prompt={t('设置')} />
}
