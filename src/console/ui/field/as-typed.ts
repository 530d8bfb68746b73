/**
 * For texts that programs compare: prevents capitalization and corrections by phones, and spell
 * checking, for which browsers may send the text to a service. A form passes it to its fields.
 */
export const asTyped = { autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false } as const
