import { Suspense } from 'react'
import { lazyPart } from './lazy-part.ts'
import { systemName, useStatus } from '../status.ts'
import styles from './shell.module.css'

const RichText = lazyPart(async () => (await import('../../ui/rich-text.tsx')).RichText)

export function Footer() {
  const status = useStatus()
  const html = status.footer_html ?? ''
  return (
    <footer className={styles['footer']}>
      {html === '' ? (
        <p>
          {systemName(status)} {status.version}
        </p>
      ) : (
        <Suspense fallback={null}>
          <RichText text={html} />
        </Suspense>
      )}
    </footer>
  )
}
