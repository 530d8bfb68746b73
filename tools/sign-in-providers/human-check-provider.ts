import { startProviderServer, type ProviderServer } from './provider-server.ts'

export interface HumanCheckProvider extends ProviderServer {
  siteKey: string
  secretKey: string
}

/** The widget's script and its verification server; each token can be used once. */
export async function startHumanCheckProvider(port = 0): Promise<HumanCheckProvider> {
  const keys = { siteKey: 'site-key', secretKey: 'human-secret' }
  const used = new Set<string>()
  const server = await startProviderServer({
    port,
    answer({ url, body }) {
      if (url.pathname === '/turnstile/v0/api.js') return { type: 'text/javascript', body: WIDGET }
      if (url.pathname !== '/turnstile/v0/siteverify') return { status: 404, body: {} }
      const answer = String(body['response'])
      const isRight =
        body['secret'] === keys.secretKey && answer.startsWith('human-') && !used.has(answer)
      used.add(answer)
      return { body: { success: isRight } }
    },
  })
  return Object.assign(keys, server)
}

/** A widget with one button, which passes the check. */
const WIDGET = `
let answers = 0
window.turnstile = {
  render(place, settings) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'I am human (' + settings.sitekey + ')'
    button.onclick = () => settings.callback('human-' + Date.now() + '-' + (answers += 1))
    place.append(button)
    return 'widget'
  },
  reset() {},
  remove() {},
}
`
