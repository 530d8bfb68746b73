import '@mantine/core/styles/Button.layer.css'
import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import styles from './leave-dialog.module.css'

export interface LeaveDialogProps {
  onStay: () => void
  onLeave: () => void
}

export function LeaveDialog({ onStay, onLeave }: LeaveDialogProps) {
  const { t } = useTranslation()
  return (
    <PlainDialog title={t('离开此页？')} onClose={onStay}>
      <p>{t('未保存的修改会丢失')}</p>
      <div className={styles['answers']}>
        <Button variant="default" onClick={onStay}>
          {t('留在此页')}
        </Button>
        <Button color="red" onClick={onLeave}>
          {t('放弃修改并离开')}
        </Button>
      </div>
    </PlainDialog>
  )
}
