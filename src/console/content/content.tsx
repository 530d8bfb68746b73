import { RichText } from '../ui/rich-text.tsx'
import styles from './content.module.css'
import { frameAddress } from './frame-address.ts'

/** What an operator configured: a page of another origin in a frame, or markdown and HTML. */
export function Content({ text, title }: { text: string; title: string }) {
  const address = frameAddress(text, location.origin)
  if (address !== null) return <ForeignPage address={address} title={title} />
  return (
    <article className={styles['text']}>
      <RichText text={text} />
    </article>
  )
}

function ForeignPage({ address, title }: { address: string; title: string }) {
  return (
    <iframe
      className={styles['frame']}
      src={address}
      title={title}
      sandbox="allow-scripts allow-forms allow-popups allow-same-origin allow-downloads allow-modals"
      allow="clipboard-write"
      referrerPolicy="no-referrer"
    />
  )
}
