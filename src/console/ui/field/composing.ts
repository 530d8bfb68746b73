/** Key code that Safari reports, after the end of a composition, for the key that ended it. */
const COMPOSED_KEY_CODE = 229

/** Whether a key event belongs to an input method. */
export const isComposing = ({ nativeEvent }: { nativeEvent: KeyboardEvent }): boolean =>
  nativeEvent.isComposing || nativeEvent.keyCode === COMPOSED_KEY_CODE
