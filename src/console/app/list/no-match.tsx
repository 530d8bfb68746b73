import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { SearchBox } from '../../ui/filter-bar.tsx'
import { Empty } from '../../ui/states.tsx'

interface NoMatchProps {
  sentence: string
  box: SearchBox
  /** Clears the other filters. */
  onClear?: () => void
}

/** Message for a search without results, with a button that clears it. */
export function NoMatch({ sentence, box, onClear }: NoMatchProps) {
  const { t } = useTranslation()
  function clear() {
    onClear?.()
    box.clear()
  }
  return (
    <Empty
      sentence={sentence}
      action={
        <Button variant="default" size="xs" onClick={clear}>
          {t('清除搜索')}
        </Button>
      }
    />
  )
}
