import DOMPurify from 'dompurify'
import { marked } from 'marked'
import { isOwnApi } from './own-api.ts'

/**
 * What an operator wrote (markdown, HTML, or both) as HTML that runs nothing, loads nothing the
 * content policy would object to, and stays where it is put.
 */

/** Stands before `style` while HTML is parsed: merely parsing a style is an offence to the policy. */
const ASIDE = 'data-aside-'
const STYLE_ATTRIBUTE = `${ASIDE}style`

/** Text that may be an attribute's beginning, wherever it stands; put back where it was none. */
const setStylesAside = (html: string): string =>
  html.replace(/(?<![\w-])style(?=\s*=)/gi, `${ASIDE}$&`)
/**
 * Merely parsing a style sheet or a base address is an offence too, though neither would survive:
 * elements that are read the same way take their place.
 */
const setTagsAside = (html: string): string =>
  html.replace(/<(\/?)style(?=[\s/>])/gi, '<$1noembed').replace(/<base(?=[\s/>])/gi, '<wbr')

const putBack = (text: string): string => text.replaceAll(/data-aside-(?=style)/gi, '')

/** Declarations that could lift content out of its place and over the page, or fetch something. */
const isHarmless = (property: string, value: string): boolean =>
  !/^(position|z-index|inset.*|top|right|bottom|left|content|behavior)$/.test(property) &&
  !/url\(|image-set\(|expression|@import|\\/i.test(value)

/** Attributes by which an element loads something, whatever the element. */
const LOADING = new Set(['src', 'srcset', 'poster', 'background', 'data', 'href', 'xlink:href'])

function addressOf(value: string): URL | null {
  try {
    return new URL(value, document.baseURI)
  } catch {
    return null
  }
}

/** Whether an attribute loads nothing, or what the policy lets it load; never our own API. */
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

/** Characters of a text that is still read as markdown. */
const TEXT_MAX = 300_000
/** Emphasis marks in one paragraph: the time to pair them grows with their square. */
const MARKS_MAX = 4000

const isTangled = (text: string): boolean =>
  text.length > TEXT_MAX ||
  text.split(/\n\s*\n/).some((part) => part.length > MARKS_MAX && marksIn(part) > MARKS_MAX)

const marksIn = (text: string): number => text.replaceAll(/[^*_~]/g, '').length

const escaped = (text: string): string =>
  `<pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>`

/** Tags that are looked at; a larger page would keep its reader waiting. */
const TAGS_MAX = 12_000

/** What cannot be read in reasonable time or depth is shown as it was written. */
function toHtml(text: string): string {
  if (isTangled(text)) return escaped(text)
  try {
    const html = marked.parse(text, { async: false })
    return html.split('<').length > TAGS_MAX ? escaped(text) : html
  } catch {
    return escaped(text)
  }
}

/** Safe to become the content of an element; its styles are still aside. */
export function toSafeHtml(text: string): string {
  return purify.sanitize(setStylesAside(setTagsAside(toHtml(text))), {
    FORBID_ATTR: ['style'],
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'dialog', 'map'],
    // A name of the page's own elements must not be taken by content that stands before them.
    SANITIZE_NAMED_PROPS: true,
  })
}

/** Gives elements their harmless styles, and texts what looked like one. */
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
  if (!root.innerHTML.toLowerCase().includes(ASIDE)) return
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const node = texts.currentNode
    node.nodeValue = putBack(node.nodeValue ?? '')
  }
  for (const element of root.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (value.toLowerCase().includes(ASIDE)) element.setAttribute(name, putBack(value))
    }
  }
}
