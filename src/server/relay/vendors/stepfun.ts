import { roleEdits } from '../protocols/openai-chat/message-edits.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

export const stepfun = openaiVendor({
  type: 32,
  label: { zh: '阶跃星辰', en: 'StepFun' },
  color: 'blue',
  baseUrl: 'https://api.stepfun.com',
  modelVendor: 'stepfun',
  listPosition: 280,
  // StepFun supports only the roles system, user, assistant and tool.
  call: { edits: roleEdits },
  models: names(`
    step-2-mini step-2-16k step-3 step-3.5-flash step-3.5-flash-2603 step-3.7-flash step-r1-v-mini
    step-1-8k step-1-32k step-1-128k step-1-256k step-1-flash step-1v-8k step-1v-32k
    step-1o-turbo-vision step-1o-vision-32k step-1x-medium
  `),
  owner: 'stepfun',
  ownerRank: 13,
})
