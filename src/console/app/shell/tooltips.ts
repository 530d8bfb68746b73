import styles from './shell.module.css'

const DELAY_MS = 50
/** Gap between a tooltip and its element, and minimum gap to the window's edge, in pixels. */
const GAP = 6

/** Positions the tooltip below the element, or above it at the bottom of the window. */
function placeAt(tip: HTMLElement, element: Element): void {
  const { left, width, top, bottom } = element.getBoundingClientRect()
  const x = left + width / 2 - tip.offsetWidth / 2
  const rightmost = document.documentElement.clientWidth - tip.offsetWidth - GAP
  const hasRoom = bottom + GAP + tip.offsetHeight <= innerHeight
  tip.style.left = `${Math.max(GAP, Math.min(x, rightmost))}px`
  tip.style.top = `${hasRoom ? bottom + GAP : top - GAP - tip.offsetHeight}px`
}

/**
 * A ref for the container of floating elements: shows the title of the hovered element earlier than
 * the browser does. The title is empty meanwhile, which suppresses the browser's tooltip.
 */
export function withTooltips(place: HTMLElement | null): () => void {
  const tip = document.createElement('div')
  tip.className = styles['tooltip'] ?? ''
  tip.role = 'tooltip'
  tip.popover = 'manual'
  place?.append(tip)
  let owner: HTMLElement | null = null
  let text = ''
  let timer: ReturnType<typeof setTimeout> | undefined

  function hide() {
    clearTimeout(timer)
    tip.hidePopover()
  }
  function release() {
    hide()
    watch.disconnect()
    // Otherwise the page has changed or removed the title meanwhile.
    if (owner?.getAttribute('title') === '') owner.title = text
    owner = null
  }
  function show() {
    if (owner?.isConnected !== true) return
    tip.textContent = text
    tip.showPopover()
    placeAt(tip, owner)
  }
  /** Handles a title that the page has changed or removed while it is shown. */
  function follow() {
    const title = owner?.getAttribute('title') ?? null
    // Emptied by `show`.
    if (owner === null || title === '') return
    if (title === null) return release()
    text = title
    owner.title = ''
    if (!tip.matches(':popover-open')) return
    tip.textContent = text
    placeAt(tip, owner)
  }
  const watch = new MutationObserver(follow)
  function onOver({ target }: Event) {
    // Touch does not hover, and the title of an iframe is its accessible name.
    const canHover = matchMedia('(hover: hover)').matches && target instanceof Element
    const titled = canHover ? target.closest<HTMLElement>('[title]:not(iframe)') : null
    const title = titled?.title ?? ''
    if (titled !== null && titled === owner && (title === '' || title === text)) {
      titled.title = ''
      return
    }
    release()
    if (titled === null || title === '') return
    owner = titled
    text = title
    titled.title = ''
    watch.observe(titled, { attributeFilter: ['title'] })
    timer = setTimeout(show, DELAY_MS)
  }

  const stop = new AbortController()
  const { signal } = stop
  document.addEventListener('mouseover', onOver, { signal })
  document.documentElement.addEventListener('mouseleave', release, { signal })
  for (const event of ['pointerdown', 'keydown', 'scroll']) {
    document.addEventListener(event, hide, { signal, capture: true })
  }
  return () => {
    stop.abort()
    release()
    tip.remove()
  }
}
