type Leave = (isExpired: boolean) => void

let leave: Leave = () => {}

/** Registers the router's navigation to the sign-in page. */
export function onSignInRequired(go: Leave): void {
  leave = go
}

/** Navigates to the sign-in page, which returns here afterwards. Safe to call twice. */
export const goToSignIn = (isExpired: boolean): void => leave(isExpired)
