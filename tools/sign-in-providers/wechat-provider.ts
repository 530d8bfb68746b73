import { startProviderServer, type ProviderServer } from './provider-server.ts'

export interface WechatProvider extends ProviderServer {
  /** Required `Authorization` header. */
  token: string
  /** Ids by the code that the public account sent. A code can be used once. */
  codes: Map<string, unknown>
}

/** The helper server between the WeChat public account and a gateway. */
export async function startWechatProvider(port = 0): Promise<WechatProvider> {
  const codes = new Map<string, unknown>()
  const settings = { token: 'wechat-token' }
  const server = await startProviderServer({
    port,
    answer({ url, headers }) {
      if (url.pathname === '/qrcode.svg') return { type: 'image/svg+xml', body: QR_CODE }
      if (url.pathname !== '/api/wechat/user') return { status: 404, body: {} }
      if (headers.authorization !== settings.token) {
        return { body: { success: false, message: 'the token is not valid' } }
      }
      const code = url.searchParams.get('code') ?? ''
      const data = codes.get(code) ?? ''
      codes.delete(code)
      return { body: { success: true, message: '', data } }
    },
  })
  return Object.assign(settings, server, { codes })
}

/** Looks like a QR code, but encodes nothing. */
const QR_CODE = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 21 21"><path d="M0 0h21v21H0z" fill="#fff"/><path d="M1 1h7v7H1zm12 0h7v7h-7zM1 13h7v7H1zm10-2h3v3h-3zm4 4h4v1h-4zm-4 2h2v3h-2z"/><path d="M2 2h5v5H2zm12 0h5v5h-5zM2 14h5v5H2z" fill="#fff"/><path d="M3 3h3v3H3zm12 0h3v3h-3zM3 15h3v3H3z"/></svg>`
