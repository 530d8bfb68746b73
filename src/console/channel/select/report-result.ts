import { useTranslation } from 'react-i18next'
import { toast } from '../../app/toast.ts'

/** Reports the result in a toast, with the number of selected channels that no longer exist. */
export function useReportResult(): (done: string, gone: number) => void {
  const { t } = useTranslation()
  return (done, gone) => {
    if (gone === 0) toast.success(done)
    else toast.warning(t('{{done}}；另有 {{count}} 个已不存在', { done, count: gone }))
  }
}
