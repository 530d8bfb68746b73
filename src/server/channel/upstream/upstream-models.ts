import { channelType } from '../../../contract/channel-types.ts'
import { AppError } from '../../app-error.ts'
import type { Config } from '../../config.ts'
import { vendorOf } from '../../relay/vendors/registry.ts'
import { MODEL_LENGTH_MAX } from '../channel-input.ts'
import type { AskedChannel, AskUpstream } from './channel-upstream.ts'

/** Maximum number of models in a response; the longest known list has some hundred. */
const MODELS_MAX = 5000

/** Whether a comma-separated list can contain the name and it is readable. */
const isStorable = (name: string): boolean =>
  name !== '' && name.length <= MODEL_LENGTH_MAX && !/[,\p{Cc}\p{Cf}\p{Cs}]/u.test(name)

/**
 * Returns the names of the models that the upstream offers to the channel's key, sorted, without
 * duplicates. Throws if they cannot be read.
 */
export async function readUpstreamModels(
  channel: AskedChannel,
  ask: AskUpstream,
  { GEMINI_VERSION }: Pick<Config, 'GEMINI_VERSION'>,
): Promise<string[]> {
  const { modelList } = vendorOf(channel.type)
  if (modelList === undefined) {
    throw new AppError('channel_models_unsupported', { type: channelType(channel.type).label })
  }
  const parsed = modelList.shape.safeParse(await ask(modelList.question(channel, GEMINI_VERSION)))
  if (!parsed.success) throw new AppError('channel_models_unreadable')
  const listed = new Set(parsed.data.map((name) => name.trim()).filter(isStorable))
  return [...listed].slice(0, MODELS_MAX).toSorted()
}
