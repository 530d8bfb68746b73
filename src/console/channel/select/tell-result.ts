import { useTranslation } from 'react-i18next'
import { toast } from '../../app/toast.ts'

/** Says in one sentence what was done, and how many of the chosen channels were gone by then. */
export function useTell(): (done: string, gone: number) => void {
  const { t } = useTranslation()
  return (done, gone) => {
    if (gone === 0) toast.success(done)
    else toast.warning(t('{{done}}；另有 {{count}} 个已不存在', { done, count: gone }))
  }
}
