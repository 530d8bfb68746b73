import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { SearchBox } from '../../ui/filter-bar.tsx'
import { Empty } from '../../ui/states.tsx'

/** Nothing was found: says so, and ends the search. */
export function NoMatch({ sentence, box }: { sentence: string; box: SearchBox }) {
  const { t } = useTranslation()
  return (
    <Empty
      sentence={sentence}
      action={
        <Button variant="default" size="xs" onClick={box.clear}>
          {t('清除搜索')}
        </Button>
      }
    />
  )
}
