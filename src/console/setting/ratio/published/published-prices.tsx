import { useTranslation } from 'react-i18next'
import { useLatePart } from '../../../app/shell/lazy-part.ts'
import { Action } from '../../../ui/actions.tsx'

const loadDialog = async () => (await import('./price-dialog.tsx')).PriceDialog

/** Opens the comparison with a public price list. `isEdited`: there are unsaved ratios. */
export function PublishedPrices({ isEdited }: { isEdited: boolean }) {
  const { t } = useTranslation()
  const { Part: PriceDialog, open, close } = useLatePart(loadDialog)
  const why = isEdited ? { why: t('请先保存或放弃对倍率的修改') } : {}
  return (
    <>
      <Action label={t('对照公开价格')} onClick={open} {...why} />
      {PriceDialog !== undefined && <PriceDialog onClose={close} />}
    </>
  )
}
