import { Button } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'

const PriceDialog = lazy(async () => ({
  default: (await import('./price-dialog.tsx')).PriceDialog,
}))

/** Opens the comparison of all prices with a public list. `isEdited`: ratios that are not saved. */
export function PublishedPrices({ isEdited }: { isEdited: boolean }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button
        variant="default"
        size="xs"
        disabled={isEdited}
        title={isEdited ? t('请先保存或放弃对倍率的修改') : undefined}
        onClick={() => setIsOpen(true)}
      >
        {t('对照公开价格')}
      </Button>
      <Suspense>{isOpen && <PriceDialog onClose={() => setIsOpen(false)} />}</Suspense>
    </>
  )
}
