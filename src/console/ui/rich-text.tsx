import DOMPurify from 'dompurify'
import { marked } from 'marked'
import { useLayoutEffect, useMemo, useRef } from 'react'
import styles from './rich-text.module.css'

/** Where a `style` attribute waits until its declarations have been looked at. */
const STYLE_ATTRIBUTE = 'data-style'

/** Declarations that could lift content out of its place and over the page, or fetch something. */
const isHarmless = (property: string, value: string): boolean =>
  !/^(position|z-index|inset|top|right|bottom|left|content|behavior)$/.test(property) &&
  !/url\(|image-set\(|expression|@import/i.test(value)

const purify = DOMPurify()
purify.addHook('afterSanitizeAttributes', (element) => {
  if (element.tagName !== 'A') return
  element.setAttribute('rel', 'noopener noreferrer nofollow')
  const address = element.getAttribute('href') ?? ''
  if (/^https?:/i.test(address)) element.setAttribute('target', '_blank')
})

/** Renames `style` attributes: merely parsing one is an offence against the content policy. */
const setStylesAside = (html: string): string =>
  html.replace(/<[a-z][^>]*>/gi, (tag) =>
    tag.replace(/(\s)style(?=\s*=)/gi, `$1${STYLE_ATTRIBUTE}`),
  )

/** What an operator wrote (markdown, HTML, or both) as harmless HTML, its styles set aside. */
function toSafeHtml(text: string): string {
  const html = marked.parse(text, { async: false })
  return purify.sanitize(setStylesAside(html), {
    FORBID_ATTR: ['style'],
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'dialog'],
  })
}

function applyStyles(root: HTMLElement) {
  for (const element of root.querySelectorAll<HTMLElement>(`[${STYLE_ATTRIBUTE}]`)) {
    for (const declaration of (element.getAttribute(STYLE_ATTRIBUTE) ?? '').split(';')) {
      const [property = '', ...rest] = declaration.split(':')
      const name = property.trim().toLowerCase()
      const value = rest.join(':').trim()
      if (name !== '' && isHarmless(name, value)) element.style.setProperty(name, value)
    }
    element.removeAttribute(STYLE_ATTRIBUTE)
  }
}

/** Shows operators' markdown or HTML. */
export function RichText({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null)
  const html = useMemo(() => toSafeHtml(text), [text])
  useLayoutEffect(() => {
    if (place.current === null) return
    place.current.innerHTML = html
    applyStyles(place.current)
  }, [html])
  return <div ref={place} className={styles['richText']} />
}
