import { RichText } from '../ui/rich-text.tsx'
import styles from './content.module.css'
import { frameAddress } from './frame-address.ts'

/** What an operator configured: a page of another origin in a frame, or markdown and HTML. */
export function Content({ text, title }: { text: string; title: string }) {
  const address = frameAddress(text, location.origin)
  return (
    <>
      {/* What an operator writes need not begin with a heading; a page does. */}
      <h1 className="heard">{title}</h1>
      {address === null ? (
        <article className={styles['text']}>
          <RichText text={text} />
        </article>
      ) : (
        <ForeignPage address={address} title={title} />
      )}
    </>
  )
}

/** A page of another origin. */
export function ForeignPage({ address, title }: { address: string; title: string }) {
  return (
    <iframe
      className={styles['frame']}
      src={address}
      title={title}
      // The two are unsafe together on our own origin only, and no page of ours gets in here.
      // oxlint-disable-next-line react/iframe-missing-sandbox -- foreign pages keep their storage
      sandbox="allow-scripts allow-forms allow-popups allow-same-origin allow-downloads allow-modals"
      allow="clipboard-write"
      referrerPolicy="no-referrer"
    />
  )
}
