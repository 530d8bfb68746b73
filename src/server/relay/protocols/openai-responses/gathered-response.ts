import type { StreamGatherer } from '../dialect/dialect.ts'
import { arrayOr, isRecord, type JsonRecord } from '../../json/json-value.ts'

/**
 * Joins the events of a response. The final event contains the whole response, but some servers
 * leave its `output` empty; the items then come from the earlier events.
 */
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
