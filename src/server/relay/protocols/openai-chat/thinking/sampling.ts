import { effortValues, type Capabilities } from '../../../../model/capabilities.ts'
import { capabilitiesOf, isOpenaiModel, type AskedModel } from '../../../../model/model-table.ts'
import type { ChatRequest } from '../../canonical/chat-request.ts'
import type { ProviderCall } from '../../dialect/provider.ts'
import { reportSampling } from '../../dialect/steering.ts'
import { memberRange, memberValue, type ScannedBody } from '../../../json/body-scan.ts'
import type { MemberEdit } from '../../../json/body-splice.ts'
import { present, type JsonRecord } from '../../../json/json-value.ts'

/**
 * Whether the model rejects all sampling parameters: "Only the default (1) value is supported".
 * Most such models do so only while they reason, which depends on `effort` or their default.
 */
function refusesSampling(model: Capabilities, effort: string | null): boolean {
  if (model.temperature !== false) return false
  if (effortValues(model)?.includes('none') !== true) return true
  return (effort ?? model.reasoning_default) !== 'none'
}

/** Sampling parameters that a model accepts; `effort`: the effort that is sent, null if not set. */
export function openaiSampling(
  request: ChatRequest,
  to: AskedModel,
  effort: string | null,
): JsonRecord {
  const isOpenai = isOpenaiModel(to)
  if (refusesSampling(capabilitiesOf(to), effort)) {
    reportSampling(request, SAMPLING)
    return {}
  }
  if (isOpenai) reportSampling(request, ['topK'])
  return present({
    temperature: request.temperature,
    top_p: request.topP,
    // OpenAI has no `top_k`, and its own models reject it.
    top_k: isOpenai ? null : request.topK,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
  })
}

const SAMPLING = ['temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty'] as const

const FIGURES = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] as const

/** Values that equal the default behaviour. */
const USUAL_VALUES: Readonly<Record<(typeof FIGURES)[number], readonly unknown[]>> = {
  temperature: [null, 1],
  top_p: [null, 1],
  presence_penalty: [null, 0],
  frequency_penalty: [null, 0],
}

/** Clients send sampling parameters with every model; removes those that OpenAI's would reject. */
export function samplingEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  const sent = FIGURES.filter((name) => memberRange(body, name) !== null)
  if (sent.length === 0) return []
  const effort = memberValue(body, 'reasoning_effort')
  const told = typeof effort === 'string' ? effort : null
  if (!refusesSampling(capabilitiesOf(call), told)) return []
  for (const name of sent) {
    if (!USUAL_VALUES[name].includes(memberValue(body, name) ?? null))
      call.notes?.reportDropped(name)
  }
  return sent.map((name) => ({ remove: name }))
}
