/** What Safari calls the key that ends a composition, which it reports after the end. */
const COMPOSED_KEY_CODE = 229

/** Whether a key is meant for the input method, which makes a word of several keys. */
export const isComposing = ({ nativeEvent }: { nativeEvent: KeyboardEvent }): boolean =>
  nativeEvent.isComposing || nativeEvent.keyCode === COMPOSED_KEY_CODE
