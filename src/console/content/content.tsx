import { RichText } from '../ui/rich-text.tsx'
import styles from './content.module.css'
import { frameAddress } from './frame-address.ts'

/**
 * Content configured by the operator: a page of another origin in a frame, or markdown and HTML.
 */
export function Content({ text, title }: { text: string; title: string }) {
  const address = frameAddress(text, location.origin)
  return (
    <>
      {/* The operator's text may have no heading, but a page needs one. */}
      <h1 className="sr-only">{title}</h1>
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
      // The combination is unsafe only for pages of our own origin, which are never embedded here.
      // oxlint-disable-next-line react/iframe-missing-sandbox -- foreign pages keep their storage
      sandbox="allow-scripts allow-forms allow-popups allow-same-origin allow-downloads allow-modals"
      allow="clipboard-write"
      referrerPolicy="no-referrer"
    />
  )
}
