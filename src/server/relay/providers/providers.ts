import { capabilitiesOf } from '../../model/model-table.ts'
import type { Provider, Task } from '../dialect/provider.ts'
import { vendorOf } from '../vendors/registry.ts'

/** How channels of a type are called for a task; null if they are not relayed. */
export function providerOf(
  type: number,
  model: string,
  task: Task,
  capabilities = capabilitiesOf({ model, type }),
): Provider | null {
  const { provider } = vendorOf(type)
  return typeof provider === 'function' ? provider(model, task, capabilities) : provider
}
