const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''

/** Nonce with which the content security policy of this page allows `<style>` elements. */
export const styleNonce = (): string => nonce

// The scroll lock of floating panels adds a `<style>` element, with the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce })
