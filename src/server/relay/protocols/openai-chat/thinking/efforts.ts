import { capabilitiesOf, type AskedModel } from '../../../../model/model-table.ts'
import {
  alwaysReasonsMuch,
  effortValues,
  hasFixedReasoning,
  type Capabilities,
} from '../../../../model/capabilities.ts'
import {
  EFFORTS,
  effortOfBudget,
  type ChatRequest,
  nearestEffort,
} from '../../canonical/chat-request.ts'
import { dropThinking } from '../../dialect/steering.ts'

/** Groq's effort for models whose reasoning has no levels. */
const DEFAULT = 'default'

/**
 * Returns `reasoning_effort`; null to omit it. A model with unknown efforts gets the client's
 * value.
 */
export function openaiEffort(request: ChatRequest, to: AskedModel): string | null {
  const { thinking } = request
  if (thinking === null) return null
  const model = capabilitiesOf(to)
  const values = effortValues(model)
  if (thinking.kind === 'adaptive') return values?.includes(DEFAULT) === true ? DEFAULT : null
  if (thinking.kind === 'off') return effortForOff(model, values)
  if (values?.includes(DEFAULT) === true) return DEFAULT
  const asked = thinking.kind === 'effort' ? thinking.effort : effortOfBudget(thinking.tokens)
  if (values === null && !hasFixedReasoning(model)) return asked
  const effort = nearestEffort(asked, values ?? [])
  if (effort === null) dropThinking(request)
  return effort
}

function effortForOff(model: Capabilities, values: readonly string[] | null): string | null {
  if (values === null) return null
  if (values.includes('none')) return 'none'
  return alwaysReasonsMuch(model)
    ? (EFFORTS.find((effort) => values.includes(effort)) ?? null)
    : null
}
