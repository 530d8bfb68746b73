type Leave = (isExpired: boolean) => void

let leave: Leave = () => {}

/** The router says how to leave for the sign-in page. */
export function onSignInNeeded(go: Leave): void {
  leave = go
}

/** Leaves for the sign-in page, which comes back here afterwards. Saying it twice does no harm. */
export const goToSignIn = (isExpired: boolean): void => leave(isExpired)
