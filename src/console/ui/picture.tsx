import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import styles from './picture.module.css'

interface PictureProps {
  address: string
  alt: string
  /** What is said in its place when it cannot be loaded. */
  failure: string
  className: string | undefined
}

/** A picture of somebody's choice; if it cannot be loaded, a sentence and a button to try again. */
export function Picture({ address, alt, failure, className }: PictureProps) {
  const { t } = useTranslation()
  const [failed, setFailed] = useState('')
  if (failed !== address) {
    return <img className={className} src={address} alt={alt} onError={() => setFailed(address)} />
  }
  return (
    <p className={styles['failure']}>
      {failure}{' '}
      <button type="button" onClick={() => setFailed('')}>
        {t('重试')}
      </button>
    </p>
  )
}
