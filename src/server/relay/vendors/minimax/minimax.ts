import { upstreamUrl } from '../../../../contract/channel-types.ts'
import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { roleEdits } from '../../protocols/openai-chat/message-edits.ts'
import { minimaxDetail } from '../../protocols/openai-chat/thinking/reasoning.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { openaiVendor } from '../openai-vendor.ts'
import { names } from '../vendor.ts'
import { IMAGE_PATH, draws, imageRequestEdits, imageWalk } from './images.ts'
import { SPEECH_PATH, speaks, spokenEdits, spokenWalk } from './speech.ts'
import { minimaxWire } from './wire.ts'

/** Models for speech and images have their own URLs and formats. */
const speech: Partial<Provider> = {
  url: ({ type, baseUrl }) => upstreamUrl(type, baseUrl, SPEECH_PATH),
  edits: spokenEdits,
  via: () => inSteps(spokenWalk),
}

const images: Partial<Provider> = {
  url: ({ type, baseUrl }) => upstreamUrl(type, baseUrl, IMAGE_PATH),
  edits: imageRequestEdits,
  via: () => inSteps(imageWalk),
}

/** The wire drops the whole text that MiniMax repeats at the end of a stream. */
const usual: Partial<Provider> = { wire: minimaxWire, edits: roleEdits }

function call(model: string, task: Task): Partial<Provider> {
  if (task === 'speech' && speaks(model)) return speech
  return task === 'images' && draws(model) ? images : usual
}

export const minimax = openaiVendor({
  type: 27,
  label: 'MiniMax',
  color: 'red',
  baseUrl: 'https://api.minimax.chat',
  paths: {
    '/v1/chat/completions': '/v1/text/chatcompletion_v2',
    '/v1/messages': '/anthropic/v1/messages',
  },
  modelVendor: 'minimax-cn',
  listPosition: 240,
  // MiniMax rejects the role `developer` (openclaw/openclaw#3022).
  call,
  traits: {
    reasoningMembers: (text) => ({ reasoning_details: [minimaxDetail(text)] }),
    // Sources: MiniMax, "OpenAI SDK"; AgentScope's documentation, "MiniMax Model", "Thinking mode".
    reasoningSwitch: ({ kind }) => ({
      thinking: { type: kind === 'off' ? 'disabled' : 'adaptive' },
    }),
    // Without this member, reasoning is part of the content.
    usualMembers: ({ reasoning }) => (reasoning === true ? { reasoning_split: true } : {}),
  },
  models: names(`
    MiniMax-M3 MiniMax-M3.1-Flash MiniMax-M2.7 MiniMax-M2.7-highspeed MiniMax-M2.5
    MiniMax-M2.5-highspeed MiniMax-M2.1 MiniMax-M2.1-highspeed MiniMax-M2 M2-her MiniMax-M1
    abab6.5-chat abab6.5s-chat abab6-chat abab5.5-chat abab5.5s-chat
  `),
  owner: 'minimax',
  ownerRank: 9,
  priceLists: { rank: 120, modelsDev: ['minimax'], liteLlm: 'minimax' },
})
