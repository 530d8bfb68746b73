import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Empty } from '../../ui/states.tsx'
import type { ListState } from './list-state.ts'

/** Nothing was found: says so, and ends the search. */
export function NoMatch({ sentence, state }: { sentence: string; state: ListState }) {
  const { t } = useTranslation()
  return (
    <Empty
      sentence={sentence}
      action={
        <Button variant="default" size="xs" onClick={() => state.set({ keyword: '' })}>
          {t('清除搜索')}
        </Button>
      }
    />
  )
}
