import type { App } from '../../app.ts'
import { memberBytes, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, recordOr, type JsonRecord } from '../json/json-value.ts'
import { allowsModel } from '../../token/token.ts'
import type { Caller } from '../routing/caller.ts'
import { containerNamed } from '../protocols/openai-responses/containers.ts'
import { findItems, type KnownItem, STORED_ID } from './response-store.ts'

/**
 * Items of stored responses that a request references by id, and containers that it names to run
 * code in. The upstream gives every user of its account access to both; this server allows them
 * only for the caller they were created for.
 */
export interface ReferredItems {
  /** The first reference that belongs to another caller; null if there is no such reference. */
  foreign: string | null
  /**
   * The first bare item (`isBare`) of another caller, or one that ran in another caller's
   * container.
   */
  foreignBare: string | null
  /** The location of the last reference that belongs to the caller. */
  last: KnownItem | null
}

const NONE: ReferredItems = { foreign: null, foreignBare: null, last: null }
/**
 * Every reference has one of these member names: a body without these bytes contains none and is
 * not parsed. Names with escapes are refused.
 */
const CONTAINER_SIGN = '"container'
const ITEM_SIGNS = ['"id"', CONTAINER_SIGN]

export async function referredItems(
  app: Pick<App, 'database' | 'clock'>,
  { user, token }: Caller,
  body: ScannedBody,
): Promise<ReferredItems> {
  const references = referencesIn(body)
  if (references.length === 0) return NONE
  const known = await findItems(app.database.read, {
    userId: user.id,
    itemIds: [...new Set(references.map(({ id }) => id))].filter((id) => STORED_ID.test(id)),
    nowSeconds: app.clock.nowSeconds(),
  })
  const own = ({ id }: Reference): KnownItem | null => {
    const item = known.get(id)
    return item !== undefined && allowsModel(token, item.model) ? item : null
  }
  const foreign = references.filter((reference) => own(reference) === null)
  const last = references.findLast((reference) => own(reference) !== null)
  return {
    foreign: foreign.find(({ isBare }) => !isBare)?.id ?? null,
    foreignBare: foreign.find(({ isBare }) => isBare)?.id ?? null,
    last: last === undefined ? null : own(last),
  }
}

interface Reference {
  id: string
  /**
   * The reference is an item's own id or container. OpenAI completes the item by its id and
   * continues code in the container that it names; other providers do not. Source: OpenAI's guide,
   * "Code Interpreter" (containers, `auto`).
   */
  isBare: boolean
}

/** Returns the references of a request. References in tools are last: they cannot run elsewhere. */
function referencesIn(body: ScannedBody): Reference[] {
  const items = recordsIn(body, 'input', ITEM_SIGNS)
  const later = items.flatMap(({ tools }) => arrayOr(tools).map(recordOr))
  const tools = [...later, ...recordsIn(body, 'tools', [CONTAINER_SIGN])]
  return [...items.flatMap(referencesOf), ...tools.flatMap((tool) => containerOf(tool, false))]
}

/**
 * Returns the records of a member. Most conversations contain no references, so bodies without
 * `signs` are not parsed.
 */
function recordsIn(body: ScannedBody, name: string, signs: readonly string[]): JsonRecord[] {
  const bytes = memberBytes(body, name)
  if (bytes === null || !signs.some((sign) => bytes.includes(sign))) return []
  return arrayOr(memberValue(body, name)).map(recordOr)
}

function referencesOf(item: JsonRecord): Reference[] {
  const containers = containerOf(item, true)
  const { id } = item
  if (typeof id !== 'string') return containers
  if (isReference(item)) return [{ id, isBare: false }, ...containers]
  return lacksContent(item) ? [{ id, isBare: true }, ...containers] : containers
}

function containerOf(sent: JsonRecord, isBare: boolean): Reference[] {
  const id = containerNamed(sent)
  return id === undefined ? [] : [{ id, isBare }]
}

/**
 * Whether an item is a reference; its type is optional. Source: OpenAI's API reference,
 * `ItemReference`.
 */
const isReference = ({ type, role }: JsonRecord): boolean =>
  type === 'item_reference' || ((type ?? null) === null && (role ?? null) === null)

/**
 * Whether the upstream must look up an item's content: reasoning without its encrypted content, or
 * an image without its bytes. Sources: OpenAI's guides, "Reasoning models" and "Image generation"
 * (multi-turn, by image id).
 */
function lacksContent({ type, encrypted_content, content, result }: JsonRecord): boolean {
  if (type === 'image_generation_call') return (result ?? '') === ''
  return type === 'reasoning' && (encrypted_content ?? '') === '' && arrayOr(content).length === 0
}
