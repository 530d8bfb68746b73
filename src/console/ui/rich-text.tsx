import { useLayoutEffect, useMemo, useRef } from 'react'
import { finishSafeHtml, toSafeHtml } from './rich/safe-html.ts'
import styles from './rich-text.module.css'

/** Renders markdown or HTML that the operator wrote. */
export function RichText({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null)
  const html = useMemo(() => toSafeHtml(text), [text])
  useLayoutEffect(() => {
    if (place.current === null) return
    place.current.innerHTML = html
    finishSafeHtml(place.current)
  }, [html])
  return <div ref={place} className={styles['richText']} />
}
