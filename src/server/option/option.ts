import { optionKeys, optionRows, type OptionKey } from '../../contract/option/options.ts'
import { modelCapabilities } from '../model/model-option.ts'
import { defaultRatios, isRatioOption, ratioMapJson } from './default-ratios.ts'
import {
  address,
  auditSink,
  channelTypes,
  choice,
  domains,
  flag,
  groupRatios,
  line,
  longText,
  numberWithin,
  optionalNumber,
  picture,
  ratios,
  sender,
  timeZone,
  type OptionSpec,
} from './option-value.ts'
import { priceTiers } from './price-tiers.ts'
import { signInProviders } from './sign-in-providers.ts'
import { usableGroups } from './usable-groups.ts'

/** The checks of every option, from its row in the contract. */

function specOf(key: OptionKey): OptionSpec {
  const row = optionRows[key]
  const builtIn = () => (isRatioOption(key) ? ratioMapJson(defaultRatios()[key]) : '{}')
  switch (row.kind) {
    case 'flag':
      return flag(row)
    case 'number':
      return numberWithin(row)
    case 'optionalNumber':
      return optionalNumber(row)
    case 'choice':
      return choice(row)
    case 'line':
    case 'secret':
      return line(row)
    case 'address':
      return address(row)
    case 'auditSink':
      return auditSink(row)
    case 'picture':
      return picture(row)
    case 'sender':
      return sender(row)
    case 'domains':
      return domains(row)
    case 'timeZone':
      return timeZone(row)
    case 'channelTypes':
      return channelTypes(row)
    case 'longText':
      return longText(row)
    case 'ratios':
      return ratios(builtIn)
    case 'groupRatios':
      return groupRatios(builtIn)
    case 'usableGroups':
      return usableGroups(row)
    case 'priceTiers':
      return priceTiers()
    case 'signInProviders':
      return signInProviders(row)
    case 'modelCapabilities':
      return modelCapabilities(row)
  }
}

const optionSpecs: ReadonlyMap<OptionKey, OptionSpec> = new Map(
  optionKeys.map((key) => [key, specOf(key)]),
)

/** The default and the check of an option. */
export function optionSpec(key: OptionKey): OptionSpec {
  const spec = optionSpecs.get(key)
  if (spec === undefined) throw new Error(`the option ${key} has no row`)
  return spec
}

/** The option that `key` needs before it can be turned on; null if it needs none. */
function neededBy(key: OptionKey): OptionKey | null {
  const row = optionRows[key]
  return row.kind === 'flag' ? (row.needs ?? null) : null
}

/**
 * Returns the empty option that must be set before `key` can be set to `value`; null if there is no
 * such option.
 */
export function missingPrerequisite(
  key: OptionKey,
  value: string,
  current: (key: OptionKey) => string,
): OptionKey | null {
  const needed = value === 'true' ? neededBy(key) : null
  return needed === null || current(needed) !== '' ? null : needed
}

/**
 * Returns a switch that is on and requires `key`, which is about to be emptied; null if there is no
 * such switch.
 */
export function switchThatNeeds(
  key: OptionKey,
  value: string,
  current: (key: OptionKey) => string,
): OptionKey | null {
  if (value !== '') return null
  const after = (other: OptionKey): string => (other === key ? '' : current(other))
  return (
    optionKeys.find(
      (name) =>
        missingPrerequisite(name, current(name), after) !== null &&
        missingPrerequisite(name, current(name), current) === null,
    ) ?? null
  )
}

/**
 * Returns the secret that would be sent to another host, port or scheme than the one it was entered
 * for if `key` became `value`; null if there is no such secret. Otherwise an admin who may change
 * addresses could have the secret sent to their own server.
 */
export function secretLeftBehind(
  key: OptionKey,
  value: string,
  current: (key: OptionKey) => string,
): OptionKey | null {
  const after = (other: OptionKey): string => (other === key ? value : current(other))
  const placeIn = (of: (key: OptionKey) => string, addresses: readonly OptionKey[]): string =>
    placeOf(addresses.map(of).find((text) => text !== '') ?? '')
  for (const secretKey of optionKeys) {
    const row = optionRows[secretKey]
    const addresses = row.kind === 'secret' ? (row.sentTo ?? []) : []
    const before = placeIn(current, addresses)
    const isMoved = before !== '' && before !== placeIn(after, addresses)
    if (isMoved && current(secretKey) !== '') return secretKey
  }
  return null
}

/** The origin of an address; a mail server is only a name. */
const placeOf = (text: string): string =>
  /^https?:/i.test(text) && URL.canParse(text) ? new URL(text).origin : text.trim().toLowerCase()
