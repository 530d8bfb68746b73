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

/** Effective ratio maps: the operator's entries, then the built-in ones. */
export interface Ratios {
  model: RatioMap
  completion: RatioMap
  group: RatioMap
  cache: RatioMap
  /** Ratio of prompt tokens that are written to a cache that lasts minutes. */
  cacheWrite: RatioMap
  cacheWriteHour: RatioMap
  /** Dollars a call. */
  perCall: RatioMap
  audio: RatioMap
  audioCompletion: RatioMap
  image: RatioMap
  imageCompletion: RatioMap
  /** Factors of images that are billed per image, by model, quality and size. */
  picture: RatioMap
  /** Dollars per thousand calls of a hosted tool. */
  tool: RatioMap
  /** Prices of prompts beyond a length. */
  tiers: TierMap
  /** Points per dollar. */
  quotaPerUnit: string
  /** Ratio of models without an entry; undefined if they have no price. */
  otherwise: string | undefined
  /**
   * Digest of all of the above: the same in every process and after every start, as long as no
   * price changes. Identifies the prices with which a call was computed.
   */
  version: string
}

/**
 * The current options: one snapshot in memory, replaced as a whole when any process changes an
 * option, so that no reader sees a partial change.
 */
export interface LiveOptions {
  text(key: OptionKey): string
  number(key: OptionKey): number
  flag(key: OptionKey): boolean
  ratios(): Ratios
  /** Groups that every user may select for tokens; only those with a ratio. */
  usableGroups(): UsableGroups
  /** Keys and values, without secrets. */
  listed(): { key: string; value: string }[]
  /** Keys of secrets that are set. */
  secretsSet(): string[]
  /**
   * Validates, stores and applies a value. Throws `option_unknown`, `option_invalid`,
   * `option_needs`, `option_in_use`. `also` runs in the same transaction; it receives the stored
   * text, and the secret that this change clears, if any.
   */
  set(
    key: string,
    value: string,
    also?: (trx: Queries, change: { stored: string; emptied: OptionKey | null }) => Promise<void>,
  ): Promise<void>
  /**
   * Sets several keys that do not depend on each other, all or none. `change` computes the new
   * texts from the stored ones, which are locked until the transaction ends.
   */
  setAll(
    change: (before: OptionTexts) => ReadonlyMap<OptionKey, string>,
    also: (trx: Queries, changed: readonly OptionChange[]) => Promise<void>,
  ): Promise<void>
  reload(): Promise<void>
}

/** Returns an option's stored text, or its default if not set. */
export type OptionTexts = (key: OptionKey) => string

export interface OptionChange {
  key: OptionKey
  before: string
  after: string
}

const OPTIONS_CHANGED = 'options'
/** Delay before a failed reload is retried. */
const RELOAD_DELAY_MS = 500

/** `defaults` replaces the built-in defaults. */
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

  // An adopted database may contain a text that would be rejected here.
  const validText = (key: OptionKey): string =>
    optionSpec(key).check(text(key)) === null ? text(key) : optionSpec(key).default
  // One API adds the built-in models to the operator's map when it loads it. The same is done here,
  // so that prices stay the same.
  const completed = (key: RatioOption): RatioMap =>
    completedWith(ratiosInForce(text(key)), defaultRatios()[key])
  let readings = 0
  let newest = 0
  async function reload(): Promise<void> {
    readings += 1
    const reading = readings
    const read = await loadOptions(database.read)
    // If reloads run concurrently, the one that started last has the newest data.
    if (reading < newest) return
    newest = reading
    stored = read
    ratioSnapshot = undefined
    usableSnapshot = undefined
  }
  /** Retries until the database responds; the last snapshot is used meanwhile. */
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
      // The change is stored, so other processes must be notified even if the reload failed here.
      await database.announce(OPTIONS_CHANGED)
    }
  }

  return {
    text,
    number: (key) => Number(validText(key)),
    // As in One API, every value except `true` is off.
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
        // Reads the stored values under a lock: a secret that is entered concurrently must not be
        // sent to another address.
        await lockOptions(trx)
        const before = textsOf(await loadOptions(trx))
        const kept = optionSpec(key).completed?.(value, before(key)) ?? value
        refuseValue(key, kept, before)
        const emptied = secretLeftBehind(key, kept, before)
        await saveOption(trx, key, kept)
        if (emptied !== null) await saveOption(trx, emptied, '')
        await also?.(trx, { stored: kept, emptied })
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
    // Sorted, because the order of entries does not affect prices.
    value instanceof Map ? Array.from(value).toSorted(([a], [b]) => (a < b ? -1 : 1)) : value,
  )
  return { ...ratios, version: sha256(whole).slice(0, VERSION_DIGITS) }
}

async function saveAll(trx: Queries, texts: ReadonlyMap<OptionKey, string>): Promise<void> {
  for (const [key, value] of texts) await saveOption(trx, key, value)
}

/** Throws if `key` may not be set to `value`. */
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
 * Returns the text that the console shows and sends back. An adopted price list is shown as it is
 * applied; otherwise every change would be rejected because of an invalid entry that the admin has
 * not touched.
 */
function shownText(key: OptionKey, value: string): string {
  const spec = optionSpec(key)
  if (spec.shown !== undefined) return spec.shown(value)
  return spec.mended === undefined || spec.check(value) === null ? value : spec.mended(value)
}
