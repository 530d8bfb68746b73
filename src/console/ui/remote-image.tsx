import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import styles from './remote-image.module.css'

interface RemoteImageProps {
  address: string
  alt: string
  /** Message if the image cannot be loaded. */
  failure: string
  className: string | undefined
}

/**
 * An image from a configured address. If loading fails, it is replaced with a message and a retry
 * button.
 */
export function RemoteImage({ address, alt, failure, className }: RemoteImageProps) {
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
