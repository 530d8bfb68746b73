import { field, words } from '../../../../contract/channel-type-row.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { takesOtherLimit } from '../../protocols/openai-chat/write-request.ts'
import { openai, thinkingEdits } from '../openai.ts'
import { OPENAI_CHAT, nativeVendor } from '../vendor.ts'
import { azureAsksForUsage, azureHeaders, azureUrl } from './address.ts'

const azureProvider: Provider = {
  dialect: 'openai',
  url: azureUrl,
  headers: azureHeaders,
  asksForUsage: azureAsksForUsage,
}

const reasoning: Provider = { ...azureProvider, edits: thinkingEdits }

export const azure = nativeVendor({
  type: 3,
  label: { zh: 'Azure', en: 'Azure OpenAI' },
  color: 'olive',
  protocol: 'azure',
  baseUrlField: {
    mode: 'required',
    label: words('AZURE_OPENAI_ENDPOINT'),
    placeholder: 'https://my-resource.openai.azure.com',
  },
  fields: [
    field(
      'api_version',
      { zh: '默认 API 版本', en: 'Default API version' },
      {
        alsoOther: true,
        placeholder: '2024-03-01-preview',
        default: '2024-03-01-preview',
      },
    ),
    field(
      'deployment_dots',
      { zh: '部署名中的点', en: 'Dots in deployment names' },
      {
        default: 'keep',
        whenAbsent: 'remove',
        choices: [
          { value: 'keep', label: { zh: '保留：gpt-4.1', en: 'Keep: gpt-4.1' } },
          { value: 'remove', label: { zh: '去掉：gpt-41', en: 'Leave out: gpt-41' } },
        ],
      },
    ),
  ],
  notice: {
    zh: '部署名须与模型名相同；早先的部署名不能带点，可在下方选择',
    en: 'Name deployments after models; older ones could have no dots, which is chosen below',
  },
  // Version `v1` and the deployments of the dated ones lie side by side. Elsewhere a path may be
  // called `/openai` for other reasons: by itself it is a part at Azure's hosts only.
  partAddress:
    /^(https?:\/\/[^/]+\.azure\.(?:com|us|cn)(?:\/.+)?|.+(?=\/openai\/))\/openai(?:\/v1|\/deployments(?:\/[^/]+)?)?$/i,
  modelVendor: 'azure',
  listPosition: 60,
  provider: (model, _task, capabilities) =>
    takesOtherLimit({ model, capabilities }) ? reasoning : azureProvider,
  traits: { servesOpenai: true },
  refusals: {
    hosts: /(?:^|\.)azure\.com$/,
    // Its models are deployments. Source: Azure OpenAI, "Troubleshooting".
    meaning: ({ code }) =>
      code === 'DeploymentNotFound' ? { status: 404, word: 'model_not_found' } : undefined,
  },
  models: openai.models ?? [],
  docs: {
    source: 'Azure OpenAI, REST API reference; API version lifecycle',
    chat: OPENAI_CHAT,
    notes: [
      'A version of `v1` names the model in the body; others in the address, where dots are left out ' +
        'unless `deployment_dots` is `keep`, as the form makes it for new channels.',
      'An address that ends in `/openai/v1`, as Microsoft’s pages give it, is called by version `v1` ' +
        'whatever else is said; `/openai` and `/openai/deployments/…` at its end count for nothing.',
      'Versions before `2024-09-01` refuse `stream_options`: it is left out, what a stream used is ' +
        'counted here, and the stream has no figures, also for a client that asks for them.',
      'Models from gpt-5.4 on are asked by the Responses API for clients of Anthropic and Gemini that ' +
        'declare tools, and then by `/openai/v1/`, with the model as the name of the deployment.',
    ],
  },
})
