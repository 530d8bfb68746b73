import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Loading } from '../../ui/loading.tsx'
import { LoadError } from '../../ui/states.tsx'
import { type Options, useOptions } from './options.ts'

/** Shows what needs the settings once they are here. */
export function WithOptions({ children }: { children: (options: Options) => ReactNode }) {
  const { t } = useTranslation()
  const { options, error, retry } = useOptions()
  if (options !== null) return children(options)
  if (error !== null) return <LoadError what={t('设置')} error={error} onRetry={retry} />
  return <Loading prompt={t('设置')} />
}
