import { readFileSync } from 'node:fs'
import { interleavedOf, type Capabilities, type MeteringFigures } from './capabilities.ts'
import { fitsGlob, isPattern } from './glob.ts'
import { modelKey, withHyphens } from './model-key.ts'
import type { ModelData } from './snapshot.ts'
import { vendorOf } from './vendors.ts'

/** Capabilities of all matching models. */
interface CapabilityRow extends Layer {
  match: readonly string[]
  /** A provider of models.dev or a name of `vendors.ts`; missing for any host. */
  vendor?: string
  source: string
}

/** Capabilities that override others; null makes a member unknown. */
type Layer = { [Name in keyof Capabilities]?: Capabilities[Name] | null }

interface Overrides {
  /** Rules by name, from general to specific, for models missing in the snapshot. */
  families: readonly CapabilityRow[]
  /** Corrections of the snapshot. */
  corrections: readonly CapabilityRow[]
}

/** An operator's entry, for all channels or those of one type. */
export interface OperatorEntry {
  name: string
  match: string
  type: number | null
  /** Model whose capabilities apply where the entry sets nothing. */
  base: string | null
  capabilities: Capabilities
}

/** Bounded, because names come from clients. */
const CACHED_MAX = 5000

/** Date in a model's name: `-20250929`, `-2025-09-29`; or `-latest`. */
const SNAPSHOT_DAY = /-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$/

/**
 * Capabilities of models: one lookup by name and channel type. Later layers override earlier ones,
 * member by member:
 *
 * 1. `families` of `overrides.json`, rules by name
 * 2. models.dev: the model, by its exact name or without its date
 * 3. models.dev: differences at the channel's vendor
 * 4. `corrections` of `overrides.json`
 * 5. the operator's entries, patterns before exact names
 */
export class ModelTable {
  readonly data: ModelData
  readonly entries: readonly OperatorEntry[]
  private readonly overrides: Overrides
  /** Keys by name with hyphens instead of dots, because vendors use both for the same model. */
  private readonly hyphened: ReadonlyMap<string, string>
  private readonly cached = new Map<string, Capabilities>()

  constructor(data: ModelData, entries: readonly OperatorEntry[] = []) {
    this.data = data
    this.entries = entries
    this.overrides = bundledOverrides()
    this.hyphened = new Map(Object.keys(data.models).map((key) => [withHyphens(key), key]))
  }

  /** `type` is the channel's; undefined for an upstream of an unknown vendor. */
  capabilitiesOf(model: string, type?: number): Capabilities {
    const asked = `${type ?? 0} ${model}`
    const known = this.cached.get(asked)
    if (known !== undefined) return known
    const found = this.lookUp(model, type, this.entries)
    if (this.cached.size >= CACHED_MAX) this.cached.clear()
    this.cached.set(asked, found)
    return found
  }

  /** Returns the operator's entries that apply, in order of increasing precedence. */
  entriesFor(model: string, type: number | undefined): OperatorEntry[] {
    const names = namesOf(model)
    const isExact = ({ match }: OperatorEntry): boolean => !isPattern(match)
    const fitting = this.entries.filter(
      (entry) => (entry.type === null || entry.type === type) && this.fits(entry.match, names),
    )
    return fitting.toSorted(
      (one, other) =>
        Number(isExact(one)) - Number(isExact(other)) ||
        Number(one.type !== null) - Number(other.type !== null),
    )
  }

  private lookUp(
    model: string,
    type: number | undefined,
    entries: readonly OperatorEntry[],
  ): Capabilities {
    const names = namesOf(model)
    const vendor = vendorOf(type)
    const key = this.keyOf(names.key)
    const layers: Layer[] = [
      ...this.rowsFor(this.overrides.families, names, vendor),
      ...(key === null ? [] : [this.data.models[key] ?? {}, this.atVendor(key, vendor)]),
      ...this.rowsFor(this.overrides.corrections, names, vendor),
    ]
    for (const { base, capabilities } of entries.length === 0 ? [] : this.entriesFor(model, type)) {
      if (base !== null) layers.push(this.lookUp(base, type, []))
      layers.push(capabilities)
    }
    return layers.reduce<Capabilities>(merged, {})
  }

  private rowsFor(rows: readonly CapabilityRow[], names: Names, vendor: string | null): Layer[] {
    return rows
      .filter(
        ({ match, vendor: only = vendor }) =>
          only === vendor && match.some((pattern) => this.fits(pattern, names)),
      )
      .map(({ match: _match, vendor: _vendor, source: _source, ...members }) => members)
  }

  /** Returns the snapshot's name of a model; null if it is missing. */
  private keyOf(key: string): string | null {
    const name = withHyphens(key)
    return this.hyphened.get(name) ?? this.hyphened.get(name.replace(SNAPSHOT_DAY, '')) ?? null
  }

  private atVendor(key: string, vendor: string | null): Capabilities {
    const models = vendor === null ? undefined : this.data.vendors[vendor]
    return (models !== undefined && Object.hasOwn(models, key) ? models[key] : undefined) ?? {}
  }

  private fits(pattern: string, { key, hyphened }: Names): boolean {
    const first = pattern.charAt(0)
    // Most patterns begin with another letter, and a list may ask about thousands of names.
    const mayBegin = first === '*' || first === '[' || withHyphens(first) === hyphened.charAt(0)
    if (!mayBegin) return false
    if (!isPattern(pattern)) return pattern === key || withHyphens(pattern) === hyphened
    return fitsGlob(pattern, key) || (hyphened !== key && fitsGlob(pattern, hyphened))
  }
}

interface Names {
  key: string
  hyphened: string
}

function namesOf(model: string): Names {
  const key = modelKey(model)
  return { key, hyphened: withHyphens(key) }
}

/** Merges objects member by member; null removes the value below. */
function merged(below: Capabilities, { ...above }: Layer): Capabilities {
  const limits = { ...below.limit, ...above.limit }
  const limit = above.limit === null || Object.keys(limits).length === 0 ? null : limits
  const figures = { ...below.metering, ...above.metering }
  const metering = Object.keys(figures).length === 0 ? null : figures
  const known = Object.entries({
    ...below,
    ...above,
    limit,
    metering,
    ...interleavedOver(below, above),
  })
  const isSilent = above.reasoning === false && above.reasoning_options === undefined
  return Object.fromEntries(
    known.filter(
      ([name, value]) =>
        value !== null &&
        value !== undefined &&
        // Reasoning options of a lower layer belong to a model that reasons.
        !(isSilent && (name === 'reasoning_options' || name === 'reasoning_default')),
    ),
  )
}

function interleavedOver(below: Capabilities, { interleaved }: Layer): Layer {
  if (interleaved === null || interleaved === undefined) return {}
  const over = interleavedOf({ interleaved })
  return { interleaved: over === null ? interleaved : { ...interleavedOf(below), ...over } }
}

const read = (file: URL): unknown => JSON.parse(readFileSync(file, 'utf8'))

// Read at first use; `tools/model-data.ts` and the tests guarantee their shapes.
let overridesRead: Overrides | undefined
let modelsRead: ModelData | undefined
let tableRead: ModelTable | undefined

export const bundledOverrides = (): Overrides =>
  // Guaranteed by `tools/model-data.ts` and the tests.
  (overridesRead ??= read(new URL('overrides.json', import.meta.url)) as Overrides)

/** Returns the snapshot bundled with this version. */
export const bundledModels = (): ModelData =>
  // Guaranteed by `tools/model-data.ts` and the tests.
  (modelsRead ??= read(new URL('model-data.json', import.meta.url)) as ModelData)

const bundledTable = (): ModelTable => (tableRead ??= new ModelTable(bundledModels()))

/** A model and, if known, the channel's type and the capabilities from the current table. */
export interface AskedModel {
  model: string
  type?: number | undefined
  /** As looked up for this call; missing to use the bundled data. */
  capabilities?: Capabilities | undefined
}

export const capabilitiesOf = ({ model, type, capabilities }: AskedModel): Capabilities =>
  capabilities ?? bundledTable().capabilitiesOf(model, type)

/** The figures by which a model's calls are estimated, as they come with this version. */
export const meteringFigures = (model: string): MeteringFigures =>
  capabilitiesOf({ model }).metering ?? {}

/**
 * Whether this is one of OpenAI's own models, which reject members that their API does not define.
 * Routers prefix the maker (`openai/gpt-5`) and translate; models with open weights run anywhere.
 */
export function isOpenaiModel(to: AskedModel): boolean {
  if (to.model.includes('/')) return false
  const { maker, open_weights: isOpen } = capabilitiesOf(to)
  return maker === 'openai' && isOpen !== true
}

/**
 * Returns the maximum number of output tokens of a model, including reasoning; null if unknown.
 * Hosts of an open model have different limits; this is the highest, so that it never limits the
 * model.
 */
export const outputLimitOf = (asked: AskedModel): number | null =>
  capabilitiesOf(asked).limit?.output ?? null
