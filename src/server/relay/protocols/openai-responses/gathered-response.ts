import type { StreamGatherer } from '../dialect/dialect.ts'
import { arrayOr, isRecord, type JsonRecord } from '../../json/json-value.ts'

/** The events of a response as one: the last of them hold all of it, in some with empty hands. */
export class GatheredResponse implements StreamGatherer {
  private response: JsonRecord = {}
  private readonly done: unknown[] = []

  add({ type, item, response }: JsonRecord): void {
    if (type === 'response.output_item.done') this.done.push(item)
    if (isRecord(response)) this.response = response
  }

  whole(): JsonRecord {
    const isEmpty = arrayOr(this.response.output).length === 0
    return isEmpty ? { ...this.response, output: this.done } : this.response
  }
}
