import DOMPurify from 'dompurify'
import { marked } from 'marked'
import { isOwnApi } from './own-api.ts'

/**
 * Converts operator content (markdown, HTML, or both) to HTML that runs no scripts, loads nothing
 * that the content security policy forbids, and stays within its container.
 */

/**
 * Prefixed to `style` before HTML is parsed: parsing a style attribute already violates the policy.
 */
const STYLE_PREFIX = 'data-aside-'
const STYLE_ATTRIBUTE = `${STYLE_PREFIX}style`

/** Prefixes every text that may be a style attribute; `finishSafeHtml` restores the others. */
const prefixStyles = (html: string): string =>
  html.replace(/(?<![\w-])style(?=\s*=)/gi, `${STYLE_PREFIX}$&`)
/**
 * Parsing a style sheet or a base address also violates the policy, although the sanitizer would
 * remove them. They are replaced with elements that parse the same way.
 */
const replaceStyleTags = (html: string): string =>
  html.replace(/<(\/?)style(?=[\s/>])/gi, '<$1noembed').replace(/<base(?=[\s/>])/gi, '<wbr')

const restoreStyleText = (text: string): string => text.replaceAll(/data-aside-(?=style)/gi, '')

/** Rejects declarations that could move content over the page or load something. */
const isHarmless = (property: string, value: string): boolean =>
  !/^(position|z-index|inset.*|top|right|bottom|left|content|behavior)$/.test(property) &&
  !/url\(|image-set\(|expression|@import|\\/i.test(value)

/** Attributes through which any element may load something. */
const LOADING = new Set(['src', 'srcset', 'poster', 'background', 'data', 'href', 'xlink:href'])

function addressOf(value: string): URL | null {
  try {
    return new URL(value, document.baseURI)
  } catch {
    return null
  }
}

/** Whether an attribute loads nothing, or only what the policy allows, and never our own API. */
function mayKeep(element: Element, name: string, value: string): boolean {
  const tag = element.tagName.toLowerCase()
  if (LOADING.has(name) && isOwnApi(value)) return false
  if (name === 'href' && ['a', 'area'].includes(tag)) return true
  if (name.startsWith('data-')) return true
  if (!LOADING.has(name)) return !/url\(\s*["']?(?!#)/i.test(value)
  if (name === 'srcset') return false
  if (name.endsWith('href') && value.startsWith('#')) return true
  const address = addressOf(value)
  if (address === null) return false
  const isOurs = address.origin === location.origin
  return isOurs || (tag === 'img' && name === 'src' && /^(https|data):$/.test(address.protocol))
}

const purify = DOMPurify()
purify.addHook('uponSanitizeAttribute', (element, attribute) => {
  if (!mayKeep(element, attribute.attrName, attribute.attrValue)) attribute.keepAttr = false
})
purify.addHook('afterSanitizeAttributes', (element) => {
  if (element.tagName.toLowerCase() !== 'a') return
  element.setAttribute('rel', 'noopener noreferrer nofollow')
  const address = element.getAttribute('href') ?? ''
  if (/^https?:/i.test(address)) element.setAttribute('target', '_blank')
})

/** Maximum length of a text that is parsed as markdown, in characters. */
const TEXT_MAX = 300_000
/** Maximum emphasis marks in one paragraph: pairing them takes quadratic time. */
const MARKS_MAX = 4000

const isTangled = (text: string): boolean =>
  text.length > TEXT_MAX ||
  text.split(/\n\s*\n/).some((part) => part.length > MARKS_MAX && marksIn(part) > MARKS_MAX)

const marksIn = (text: string): number => text.replaceAll(/[^*_~]/g, '').length

const escaped = (text: string): string =>
  `<pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>`

/** Maximum number of tags that are processed; a larger page would take too long. */
const TAGS_MAX = 12_000

/** A text that cannot be parsed in reasonable time or depth is shown as it was written. */
function toHtml(text: string): string {
  if (isTangled(text)) return escaped(text)
  try {
    const html = marked.parse(text, { async: false })
    return html.split('<').length > TAGS_MAX ? escaped(text) : html
  } catch {
    return escaped(text)
  }
}

/** Returns HTML that is safe to insert; its styles are still prefixed. */
export function toSafeHtml(text: string): string {
  return purify.sanitize(prefixStyles(replaceStyleTags(toHtml(text))), {
    FORBID_ATTR: ['style'],
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'dialog', 'map'],
    // Content must not take over names of the page's own elements.
    SANITIZE_NAMED_PROPS: true,
  })
}

/** Applies the harmless styles to their elements, and restores texts that looked like a style. */
export function finishSafeHtml(root: HTMLElement): void {
  for (const element of root.querySelectorAll<HTMLElement>(`[${STYLE_ATTRIBUTE}]`)) {
    for (const declaration of (element.getAttribute(STYLE_ATTRIBUTE) ?? '').split(';')) {
      const [property = '', ...rest] = declaration.split(':')
      const name = property.trim().toLowerCase()
      const value = rest.join(':').trim()
      if (name !== '' && isHarmless(name, value)) element.style.setProperty(name, value)
    }
    element.removeAttribute(STYLE_ATTRIBUTE)
  }
  if (!root.innerHTML.toLowerCase().includes(STYLE_PREFIX)) return
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const node = texts.currentNode
    node.nodeValue = restoreStyleText(node.nodeValue ?? '')
  }
  for (const element of root.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (value.toLowerCase().includes(STYLE_PREFIX))
        element.setAttribute(name, restoreStyleText(value))
    }
  }
}
