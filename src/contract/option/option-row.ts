import type { Words } from '../channel-type-row.ts'
import type { OptionGroupId } from './option-groups.ts'

/**
 * Everything about one option: server, console, command line and documentation derive from it. To
 * add an option, add a row to one of the tables in this folder, and read it with
 * `options.text(key)`, `.number(key)` or `.flag(key)`.
 */
export type OptionRow<Key extends string = string> = OptionTexts & OptionKind<Key>

interface OptionTexts {
  /** The form of the settings that shows it; rows of a group are shown in their order here. */
  group: OptionGroupId
  /** Label of its field; refusals and the audit use it too. */
  title: Words
  hint?: Words
  placeholder?: Words
  /** One API has no such option: the form leaves the field out where the server does not send it. */
  isOurs?: true
}

/**
 * What values it takes, and by which control it is edited. Values travel and are stored as text.
 * `default` is the value of an option that was never saved.
 */
type OptionKind<Key extends string> =
  | {
      kind: 'flag'
      default: 'true' | 'false'
      /** Option that must hold something before the flag can be turned on; the server checks it. */
      needs?: Key
      /** Further ones that only the form asks for: scripts made for One API save in any order. */
      needsInForm?: readonly Key[]
      /** What the form asks before it is turned off, and the button that does it. */
      confirmOff?: { question: Words; label: Words }
    }
  | {
      kind: 'number'
      default: string
      min: number
      max: number
      /** Whole numbers if it is one. */
      step: number
      /** `points`: the form shows what they are worth in dollars. */
      unit?: Words | 'points'
      /** Days that something is kept, 0 forever: the form asks before fewer are saved. */
      deletes?: Words
    }
  /** A number, or nothing. */
  | { kind: 'optionalNumber'; default: string; min: number; max: number }
  | { kind: 'choice'; default: string; choices: readonly { value: string; title: Words }[] }
  /** A single line. */
  | { kind: 'line'; default: string }
  /** Never sent back: `secrets_set` says which ones hold a value. */
  | {
      kind: 'secret'
      default: ''
      /**
       * Options with the address that the secret is sent to; the first one that is set counts. The
       * secret is cleared when that changes to another origin.
       */
      sentTo?: readonly Key[]
    }
  /** An http(s) address, or nothing. */
  | {
      kind: 'address'
      default: ''
      /** Paths are appended to it: it ends without a slash. */
      isBase?: true
    }
  /** What an `<img>` may show: an address, a file of the console, or the image as a data URL. */
  | { kind: 'picture'; default: '' }
  /** The sender of mails: an email address, with or without a name. */
  | { kind: 'sender'; default: '' }
  /** A comma list of email domains. */
  | { kind: 'domains'; default: string }
  /** IANA name. */
  | { kind: 'timeZone'; default: string }
  /** A comma list of channel types by number, or `*` for all. */
  | { kind: 'channelTypes'; default: '' }
  | { kind: 'longText'; default: ''; rows: number; isCode?: true }
  /** JSON from a name to a decimal number; `default-ratios.json` holds the defaults. */
  | { kind: 'ratios' }
  /** The same for groups: at least one entry. */
  | { kind: 'groupRatios' }
  /** JSON from a group to its description. */
  | { kind: 'usableGroups'; default: string; rows: number }
  /** JSON from a model to its tiers; `default-price-tiers.json` holds the defaults. */
  | { kind: 'priceTiers'; rows: number }
  /** JSON from a model to what it can do, in the schema of models.dev. */
  | { kind: 'modelCapabilities'; default: ''; rows: number }
