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
  /** Label of its field, also used by errors and the audit. */
  title: Words
  hint?: Words
  placeholder?: Words
  /**
   * A session needs a proof of identity to change it, as for secrets and the options in their
   * `sentTo`: it decides who signs in, or where mail and links lead.
   */
  needsProof?: true
  /** One API does not have the option: the form omits the field if the server does not send it. */
  isOurs?: true
  /** Only root sees and changes it, also where administrators may change the other options. */
  isRootOnly?: true
}

/**
 * Values of the option, and the control that edits it. Values are sent and stored as text.
 * `default` is the value of an option that was never saved.
 */
type OptionKind<Key extends string> =
  | {
      kind: 'flag'
      default: 'true' | 'false'
      /** Option that must be set before the flag can be turned on; enforced by the server. */
      needs?: Key
      /**
       * Further required options that only the form enforces: scripts made for One API save in any
       * order.
       */
      needsInForm?: readonly Key[]
      /** Confirmation before it is turned off, and the label of its button. */
      confirmOff?: { question: Words; label: Words }
    }
  | {
      kind: 'number'
      default: string
      min: number
      max: number
      /** Whole numbers if it is one. */
      step: number
      /** `points`: the form shows their value in dollars. */
      unit?: Words | 'points'
      /**
       * Retention in days, 0 for unlimited: the form asks for confirmation before a lower value is
       * saved.
       */
      deletes?: Words
    }
  /** A number, or empty. */
  | { kind: 'optionalNumber'; default: string; min: number; max: number }
  | { kind: 'choice'; default: string; choices: readonly { value: string; title: Words }[] }
  /** A single line. */
  | { kind: 'line'; default: string }
  /** Never sent back: `secrets_set` lists the ones that are set. */
  | {
      kind: 'secret'
      default: ''
      /**
       * Options with the address that the secret is sent to; the first one that is set counts. The
       * secret is cleared when that changes to another origin.
       */
      sentTo?: readonly Key[]
    }
  /** An http(s) address, or empty. */
  | {
      kind: 'address'
      default: ''
      /** Paths are appended to it, so it has no trailing slash. */
      isBase?: true
    }
  /** Where audit entries are sent: an http(s) address, `syslog+udp://` or `syslog+tcp://`; or empty. */
  | { kind: 'auditSink'; default: '' }
  /** A source for `<img>`: an address, a file of the console, or a data URL. */
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
  /** JSON from a name to a provider (`sign-in-providers.ts`). Its secrets are never sent back. */
  | { kind: 'signInProviders'; default: '{}' }
  /** JSON from a model to its capabilities, in the schema of models.dev. */
  | { kind: 'modelCapabilities'; default: ''; rows: number }
