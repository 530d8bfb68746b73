import { AppError } from '../app-error.ts'
import type { Database } from '../db/database.ts'
import { defaultRatios, type RatioMap } from './default-ratios.ts'
import {
  isOptionKey,
  isSecretOption,
  missingPrerequisite,
  options,
  parseRatios,
  type OptionKey,
  type OptionSpec,
} from './option.ts'
import { loadOptions, saveOption } from './option-store.ts'

/** Ratio maps as they are in force: the operator's, then the built-in ones. */
export interface Ratios {
  model: RatioMap
  completion: RatioMap
  group: RatioMap
  cache: RatioMap
  /** Ratio of models without an entry; undefined: they have no price. */
  otherwise: string | undefined
  /** Grows with every change; tells which prices a call was computed with. */
  version: number
}

/**
 * The options in force. One snapshot in memory, replaced as a whole when any process changes one,
 * so that nobody sees half a change.
 */
export interface LiveOptions {
  text(key: OptionKey): string
  number(key: OptionKey): number
  flag(key: OptionKey): boolean
  ratios(): Ratios
  /** Keys with their values, secrets left out. */
  listed(): { key: string; value: string }[]
  /** Secret keys that hold a value. */
  secretsSet(): string[]
  /** Validates, stores, applies. Throws `option_unknown`, `option_invalid`, `option_needs`. */
  set(key: string, value: string): Promise<void>
  reload(): Promise<void>
}

const OPTIONS_CHANGED = 'options'

export async function createLiveOptions(database: Database): Promise<LiveOptions> {
  let stored = await loadOptions(database.read)
  let version = 0
  let ratioSnapshot: Ratios | undefined

  const text = (key: OptionKey): string => stored.get(key) ?? options[key].default

  async function reload(): Promise<void> {
    stored = await loadOptions(database.read)
    version += 1
    ratioSnapshot = undefined
  }

  database.onAnnouncement((message) => {
    // A failed reload keeps the last good snapshot; the next announcement tries again.
    if (message === OPTIONS_CHANGED || message === 'everything') reload().catch(() => {})
  })

  return {
    text,
    number: (key) => Number(text(key)),
    flag: (key) => text(key) === 'true',
    ratios() {
      ratioSnapshot ??= {
        model: withBuiltIn(text('ModelRatio'), defaultRatios().ModelRatio),
        completion: withBuiltIn(text('CompletionRatio'), defaultRatios().CompletionRatio),
        group: ratioMap(text('GroupRatio')),
        cache: withBuiltIn(text('CacheRatio'), defaultRatios().CacheRatio),
        otherwise: text('DefaultModelRatio') || undefined,
        version,
      }
      return ratioSnapshot
    },
    listed: () =>
      optionKeys()
        .filter((key) => !isSecretOption(key))
        .map((key) => ({ key, value: text(key) })),
    secretsSet: () => optionKeys().filter((key) => isSecretOption(key) && text(key) !== ''),
    async set(key, value) {
      if (!isOptionKey(key)) throw new AppError('option_unknown', { key: key.slice(0, 100) })
      const spec: OptionSpec = options[key]
      const problem = spec.check(value)
      if (problem !== null) {
        throw new AppError('option_invalid', { key, problemZh: problem.zh, problemEn: problem.en })
      }
      const missing = missingPrerequisite(key, value, text)
      if (missing !== null) throw new AppError('option_needs', { key, missing })
      await saveOption(database.write, key, value)
      await reload()
      await database.announce(OPTIONS_CHANGED)
    },
    reload,
  }
}

const optionKeys = (): OptionKey[] => Object.keys(options).filter(isOptionKey)

function ratioMap(json: string): RatioMap {
  const parsed = parseRatios(json)
  // What is stored was checked before; an adopted text that does not parse counts as empty and is
  // reported.
  return parsed instanceof Map ? parsed : new Map()
}

/**
 * One API completes the operator's map with the built-in models when it loads; so must we, or
 * prices move.
 */
function withBuiltIn(json: string, builtIn: RatioMap): RatioMap {
  return new Map([...builtIn, ...ratioMap(json)])
}
