/**
 * For texts that programs compare: a phone would begin them with a capital and mend their spelling,
 * and a browser may send them to a service that does. A form hands it on to its fields.
 */
export const asTyped = { autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false } as const
