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
  // Version `v1` and the deployments of dated versions have sibling paths. Other hosts may use
  // `/openai` as a path for other reasons, so it is recognized at Azure's hosts only.
  partAddress:
    /^(https?:\/\/[^/]+\.azure\.(?:com|us|cn)(?:\/.+)?|.+(?=\/openai\/))\/openai(?:\/v1|\/deployments(?:\/[^/]+)?)?$/i,
  modelVendor: 'azure',
  listPosition: 60,
  provider: (model, _task, capabilities) =>
    takesOtherLimit({ model, capabilities }) ? reasoning : azureProvider,
  traits: { servesOpenai: true },
  refusals: {
    hosts: /(?:^|\.)azure\.com$/,
    // Azure reports a missing deployment for a missing model. Source: Azure OpenAI,
    // "Troubleshooting".
    meaning: ({ code }) =>
      code === 'DeploymentNotFound' ? { status: 404, word: 'model_not_found' } : undefined,
  },
  models: openai.models ?? [],
  docs: {
    source: 'Azure OpenAI, REST API reference; API version lifecycle',
    chat: OPENAI_CHAT,
    notes: [
      {
        en: 'With API version `v1` the model is sent in the body. With other versions it is the deployment in the URL; dots are removed from it unless `deployment_dots` is `keep`, which the form sets for new channels.',
        zh: 'API 版本为 `v1` 时，模型写在请求体里。其他版本时它是网址里的部署名；其中的点会去掉，除非 `deployment_dots` 为 `keep`，表单对新渠道就是这样设置的。',
      },
      {
        en: 'A base URL that ends in `/openai/v1`, as in Microsoft’s documentation, always uses version `v1`. A trailing `/openai` or `/openai/deployments/…` is ignored.',
        zh: '以 `/openai/v1` 结尾的接口地址（Microsoft 文档里的写法）总是使用版本 `v1`。末尾的 `/openai` 或 `/openai/deployments/…` 会忽略。',
      },
      {
        en: 'API versions before `2024-09-01` reject `stream_options`. Gatehouse leaves it out and counts the usage of streams itself; clients then receive no usage, even if they request it.',
        zh: '`2024-09-01` 之前的 API 版本不接受 `stream_options`。网关省略它，自己计数流的用量；此时客户端即使请求也收不到用量。',
      },
      {
        en: 'For Anthropic and Gemini clients that declare tools, models from gpt-5.4 on use the Responses API at `/openai/v1/`, with the model as the deployment name.',
        zh: '对声明了工具的 Anthropic 和 Gemini 客户端，gpt-5.4 及以后的模型使用 `/openai/v1/` 的 Responses 接口，以模型名作为部署名。',
      },
    ],
  },
})
