import { contentOptions } from './content-options.ts'
import { modelOptions } from './model-options.ts'
import { operationOptions } from './operation-options.ts'
import type { OptionRow } from './option-row.ts'
import { systemOptions } from './system-options.ts'

const rows = { ...operationOptions, ...modelOptions, ...systemOptions, ...contentOptions }

/** All option keys. Other keys are rejected. */
export type OptionKey = keyof typeof rows

/** Keys of options of one kind. */
export type OptionKeyOf<Kind extends OptionRow['kind']> = {
  [Key in OptionKey]: (typeof rows)[Key]['kind'] extends Kind ? Key : never
}[OptionKey]

export const optionRows: Readonly<Record<OptionKey, OptionRow<OptionKey>>> = rows

export const isOptionKey = (key: string): key is OptionKey => Object.hasOwn(rows, key)

export const optionKeys: readonly OptionKey[] = Object.keys(rows).filter(isOptionKey)

/** Options with the address that a secret is sent to. */
const destinations: ReadonlySet<string> = new Set(
  Object.values<OptionRow<OptionKey>>(rows).flatMap((row) =>
    row.kind === 'secret' ? (row.sentTo ?? []) : [],
  ),
)

/** Whether a session needs a proof of identity to change the option. */
export const isProvenOption = (key: string): boolean =>
  isOptionKey(key) &&
  (holdsSecrets(key) || destinations.has(key) || optionRows[key].needsProof === true)

/** Whether the whole text or a part of it is a secret. */
export const holdsSecrets = (key: OptionKey): boolean =>
  isSecretOption(key) || optionRows[key].kind === 'signInProviders'

export const isSecretOption = (key: OptionKey): boolean => optionRows[key].kind === 'secret'
