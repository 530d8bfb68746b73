const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''

/** The nonce the server allows `<style>` elements with, in this answer. */
export const styleNonce = (): string => nonce

// The scroll lock of floating panels writes a <style> too, and looks for the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce })
