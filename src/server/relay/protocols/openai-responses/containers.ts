import { AppError } from '../../../app-error.ts'
import { memberBytes, memberValue, type ScannedBody } from '../../json/body-scan.ts'
import { arrayOr, recordOr, wordOf, type JsonRecord } from '../../json/json-value.ts'

/**
 * Containers that tools of the Responses API run in, priced by their memory. Sources: OpenAI's
 * price list, "Containers (Hosted Shell and Code Interpreter)", and API reference, `ContainerAuto`
 * and `CodeInterpreterToolAuto`.
 */

/** Price name of the smallest container; larger ones append their size. */
const SMALLEST = 'code_interpreter'
const LARGER = ['4g', '16g', '64g']

/** Tool types with a container → price name. */
export type ContainerPrices = ReadonlyMap<string, string>

/** Of several tools of one type, the most expensive counts. */
export function containerPrices(tools: readonly unknown[]): ContainerPrices {
  const sizes = new Map<string, number>()
  for (const sent of tools) {
    const tool = recordOr(sent)
    const container = containerOf(tool)
    if (container === null) continue
    const type = wordOf(tool.type)
    sizes.set(type, Math.max(sizes.get(type) ?? 0, sizeOf(container)))
  }
  return new Map([...sizes].map(([type, size]) => [type, nameOf(size)]))
}

const nameOf = (size: number): string =>
  size === 0 ? SMALLEST : `${SMALLEST}_${LARGER[size - 1] ?? ''}`

/**
 * Container settings of a tool; null if it has no container. A shell without a container runs at
 * the client.
 */
function containerOf({ type, container, environment }: JsonRecord): JsonRecord | null {
  if (type === 'code_interpreter') return recordOr(container)
  const isHosted = type === 'shell' && isContainer(environment)
  return isHosted ? recordOr(environment) : null
}

const isContainer = (environment: unknown): boolean =>
  wordOf(recordOr(environment).type).startsWith('container')

/** Index of the size, smallest first; an unknown size counts as the most expensive. */
function sizeOf({ memory_limit: limit }: JsonRecord): number {
  if ((limit ?? null) === null || limit === '1g') return 0
  const place = LARGER.indexOf(wordOf(limit))
  return place < 0 ? LARGER.length : place + 1
}

/** A container in which an item of a response ran. */
interface UsedContainer {
  /** Name of the container's price. */
  name: string
  /** Id; undefined if not reported. */
  id: unknown
}

/**
 * Container that an item ran in; null if it ran in none. If the call did not declare the container,
 * its size is unknown and the smallest is charged.
 */
export function usedContainer(item: JsonRecord, prices: ContainerPrices): UsedContainer | null {
  const { type, container_id: id, environment } = item
  if (type === 'code_interpreter_call') {
    return { name: prices.get('code_interpreter') ?? SMALLEST, id }
  }
  if (type !== 'shell_call' || !isContainer(environment)) return null
  return { name: prices.get('shell') ?? SMALLEST, id: recordOr(environment).container_id }
}

/**
 * Id of the container that a tool or an item of the Responses API refers to; undefined if none.
 * Sources: OpenAI's API reference, `CodeInterpreterTool`, `ContainerReferenceParam` and the items
 * that run in one.
 */
export const containerNamed = ({
  container,
  container_id: id,
  environment,
}: JsonRecord): string | undefined =>
  [container, id, recordOr(environment).container_id].find((named) => typeof named === 'string')

/** Ids of the containers in which an item of a response ran, or from which it cites a file. */
export const containersIn = (item: JsonRecord): string[] =>
  [
    item,
    ...arrayOr(item.content).flatMap((part) => arrayOr(recordOr(part).annotations).map(recordOr)),
  ].flatMap((told) => containerNamed(told) ?? [])

/** The member's name, or a JSON escape by which it could be written differently. */
const SIZE_SIGNS = ['memory_limit', '\\u00']

/**
 * Rejects container sizes in tools that are declared among the messages: later calls inherit these
 * tools without stating their price. Source: OpenAI's API reference, `additional_tools` and
 * `tool_search_output`.
 */
export function refuseLaterSizes(body: ScannedBody): void {
  const bytes = memberBytes(body, 'input')
  if (bytes === null || !SIZE_SIGNS.some((sign) => bytes.includes(sign))) return
  arrayOr(memberValue(body, 'input')).forEach((item, at) => {
    arrayOr(recordOr(item).tools)
      .map(recordOr)
      .forEach((tool, place) => {
        const container = containerOf(tool)
        if (container === null || sizeOf(container) === 0) return
        const where = tool.type === 'shell' ? 'environment' : 'container'
        const field = `input[${at}].tools[${place}].${where}.memory_limit`
        throw new AppError('relay_field_other_price', { field })
      })
  })
}
