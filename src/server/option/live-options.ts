import {
  isOptionKey,
  isSecretOption,
  optionKeys,
  optionRows,
  type OptionKey,
} from '../../contract/option/options.ts'
import { AppError } from '../app-error.ts'
import type { Database, Queries } from '../db/database.ts'
import { sha256 } from '../secrets.ts'
import { completedWith, defaultRatios, type RatioMap, type RatioOption } from './default-ratios.ts'
import { missingPrerequisite, optionSpec, secretLeftBehind, switchThatNeeds } from './option.ts'
import { loadOptions, lockOptions, saveOption } from './option-store.ts'
import { tiersInForce, type TierMap } from './price-tiers.ts'
import { ratiosInForce } from './ratio-text.ts'
import { usableInForce, type UsableGroups } from './usable-groups.ts'

/** Ratio maps as they are in force: the operator's, then the built-in ones. */
export interface Ratios {
  model: RatioMap
  completion: RatioMap
  group: RatioMap
  cache: RatioMap
  /** Of what is written to a prompt cache that lasts minutes, and to one that lasts an hour. */
  cacheWrite: RatioMap
  cacheWriteHour: RatioMap
  /** Dollars a call. */
  perCall: RatioMap
  audio: RatioMap
  audioCompletion: RatioMap
  image: RatioMap
  imageCompletion: RatioMap
  /** Factors of pictures that are sold by the piece, by model, quality and size. */
  picture: RatioMap
  /** Dollars for a thousand calls of a built-in tool. */
  tool: RatioMap
  /** What prompts beyond a length cost. */
  tiers: TierMap
  /** Points of a dollar. */
  quotaPerUnit: string
  /** Ratio of models without an entry; undefined: they have no price. */
  otherwise: string | undefined
  /**
   * Digest of all of the above: the same in every process and after every start, as long as no
   * price moves. Tells which prices a call was computed with.
   */
  version: string
}

/**
 * The options in force. One snapshot in memory, replaced as a whole when any process changes one,
 * so that no reader sees half a change.
 */
export interface LiveOptions {
  text(key: OptionKey): string
  number(key: OptionKey): number
  flag(key: OptionKey): boolean
  ratios(): Ratios
  /** Groups that anybody may give to tokens, as far as they have a ratio. */
  usableGroups(): UsableGroups
  /** Keys with their values, secrets left out. */
  listed(): { key: string; value: string }[]
  /** Secret keys that hold a value. */
  secretsSet(): string[]
  /**
   * Validates, stores, applies. Throws `option_unknown`, `option_invalid`, `option_needs`,
   * `option_in_use`. `also` runs in the same transaction; it receives the secrets that this clears.
   */
  set(
    key: string,
    value: string,
    also?: (trx: Queries, emptied: OptionKey | null) => Promise<void>,
  ): Promise<void>
  /**
   * The same for several keys that need nothing of each other: all or none. `change` makes the new
   * texts of those that are stored at this moment, which no other process changes meanwhile.
   */
  setAll(
    change: (before: OptionTexts) => ReadonlyMap<OptionKey, string>,
    also: (trx: Queries, changed: readonly OptionChange[]) => Promise<void>,
  ): Promise<void>
  reload(): Promise<void>
}

/** What an option holds, or would without a row. */
export type OptionTexts = (key: OptionKey) => string

export interface OptionChange {
  key: OptionKey
  before: string
  after: string
}

const OPTIONS_CHANGED = 'options'
/** Before a reading that failed is tried again. */
const RELOAD_DELAY_MS = 500

/** `defaults`: what counts in the place of the built-in ones. */
export async function createLiveOptions(
  database: Database,
  defaults: Partial<Record<OptionKey, string>> = {},
): Promise<LiveOptions> {
  let stored = await loadOptions(database.read)
  let ratioSnapshot: Ratios | undefined
  let usableSnapshot: UsableGroups | undefined

  const textsOf =
    (rows: ReadonlyMap<string, string>): OptionTexts =>
    (key) =>
      rows.get(key) ?? defaults[key] ?? optionSpec(key).default
  const text: OptionTexts = (key) => textsOf(stored)(key)

  // An adopted text may be none that we would have stored.
  const validText = (key: OptionKey): string =>
    optionSpec(key).check(text(key)) === null ? text(key) : optionSpec(key).default
  // One API completes the operator's map with the built-in models when it loads; so must we, or
  // prices move.
  const completed = (key: RatioOption): RatioMap =>
    completedWith(ratiosInForce(text(key)), defaultRatios()[key])
  let readings = 0
  let newest = 0
  async function reload(): Promise<void> {
    readings += 1
    const reading = readings
    const read = await loadOptions(database.read)
    // Of readings under way at once, one that began later has seen at least as much.
    if (reading < newest) return
    newest = reading
    stored = read
    ratioSnapshot = undefined
    usableSnapshot = undefined
  }
  /** The last good snapshot serves until the database answers again. */
  async function reloadAtLast(): Promise<void> {
    await reload().catch(() => {
      setTimeout(() => void reloadAtLast(), RELOAD_DELAY_MS).unref()
    })
  }

  database.onAnnouncement((message) => {
    if (message === OPTIONS_CHANGED || message === 'everything') void reloadAtLast()
  })

  async function store(save: (trx: Queries) => Promise<void>): Promise<void> {
    await database.write.transaction().execute(save)
    try {
      await reload()
    } finally {
      // It is stored: the other processes must know, even if this one could not read it again.
      await database.announce(OPTIONS_CHANGED)
    }
  }

  return {
    text,
    number: (key) => Number(validText(key)),
    // As One API reads them: what is no `true` is off.
    flag: (key) => text(key) === 'true',
    ratios() {
      ratioSnapshot ??= versioned({
        model: completed('ModelRatio'),
        completion: completed('CompletionRatio'),
        group: ratiosInForce(text('GroupRatio')),
        cache: completed('CacheRatio'),
        cacheWrite: completed('CreateCacheRatio'),
        cacheWriteHour: completed('CreateCache1hRatio'),
        perCall: completed('ModelPrice'),
        audio: completed('AudioRatio'),
        audioCompletion: completed('AudioCompletionRatio'),
        image: completed('ImageRatio'),
        imageCompletion: completed('ImageCompletionRatio'),
        picture: completed('PictureRatio'),
        tool: completed('ToolPrice'),
        tiers: tiersInForce(text('PriceTiers')),
        quotaPerUnit: validText('QuotaPerUnit'),
        otherwise: validText('DefaultModelRatio') || undefined,
      })
      return ratioSnapshot
    },
    usableGroups() {
      usableSnapshot ??= usableInForce(text('UserUsableGroups'), ratiosInForce(text('GroupRatio')))
      return usableSnapshot
    },
    listed: () =>
      optionKeys
        .filter((key) => !isSecretOption(key))
        .map((key) => ({ key, value: shownText(key, text(key)) })),
    secretsSet: () => optionKeys.filter((key) => isSecretOption(key) && text(key) !== ''),
    async set(key, value, also) {
      if (!isOptionKey(key)) throw new AppError('option_unknown', { key: key.slice(0, 100) })
      await store(async (trx) => {
        // As they are now: a secret that is entered at this moment must not go to another address.
        await lockOptions(trx)
        const before = textsOf(await loadOptions(trx))
        refuseValue(key, value, before)
        const emptied = secretLeftBehind(key, value, before)
        await saveOption(trx, key, value)
        if (emptied !== null) await saveOption(trx, emptied, '')
        await also?.(trx, emptied)
      })
    },
    setAll: (change, also) =>
      store(async (trx) => {
        await lockOptions(trx)
        const before = textsOf(await loadOptions(trx))
        const texts = change(before)
        for (const [key, value] of texts) refuseValue(key, value, before)
        await saveAll(trx, texts)
        await also(
          trx,
          Array.from(texts, ([key, after]) => ({ key, before: before(key), after })),
        )
      }),
    reload,
  }
}

const VERSION_DIGITS = 16

function versioned(ratios: Omit<Ratios, 'version'>): Ratios {
  const whole = JSON.stringify(ratios, (_, value: unknown) =>
    // Sorted: in which order an operator wrote a list moves no price.
    value instanceof Map ? Array.from(value).toSorted(([a], [b]) => (a < b ? -1 : 1)) : value,
  )
  return { ...ratios, version: sha256(whole).slice(0, VERSION_DIGITS) }
}

async function saveAll(trx: Queries, texts: ReadonlyMap<OptionKey, string>): Promise<void> {
  for (const [key, value] of texts) await saveOption(trx, key, value)
}

/** Throws when `key` may not be set to `value`. */
function refuseValue(key: OptionKey, value: string, current: (key: OptionKey) => string): void {
  const { zh, en } = optionRows[key].title
  const named = { key, titleZh: zh, titleEn: en }
  const problem = optionSpec(key).check(value)
  if (problem !== null) {
    throw new AppError('option_invalid', { ...named, problemZh: problem.zh, problemEn: problem.en })
  }
  const missing = missingPrerequisite(key, value, current)
  if (missing !== null) {
    throw new AppError('option_needs', {
      ...named,
      missingZh: `「${optionRows[missing].title.zh}」（${missing}）`,
      missingEn: `“${optionRows[missing].title.en}” (${missing})`,
    })
  }
  const user = switchThatNeeds(key, value, current)
  if (user !== null) {
    throw new AppError('option_in_use', {
      ...named,
      userZh: optionRows[user].title.zh,
      userEn: optionRows[user].title.en,
    })
  }
}

/**
 * What people are shown, and send back with a change of theirs: an adopted price list as it counts,
 * or each change would be refused for the sake of an entry that they have not touched.
 */
function shownText(key: OptionKey, value: string): string {
  const spec = optionSpec(key)
  return spec.mended === undefined || spec.check(value) === null ? value : spec.mended(value)
}
