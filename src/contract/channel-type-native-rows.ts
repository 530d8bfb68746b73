/** Channel types whose upstream speaks a protocol of its own, by number. */
import { ChannelTypeNumber } from './channel-type-number.ts'
import { composedKey, field, keyOf, row, words } from './channel-type-row.ts'
import type { ChannelType, ChannelTypeField } from './channel-type-row.ts'

const regionField = (placeholder: string): ChannelTypeField =>
  field('region', { zh: '区域（Region）', en: 'Region' }, { required: true, placeholder })

/** A key of Bedrock's own, lasting or of hours. Sources: AWS's IAM; its `bedrock-token-generator`. */
const BEDROCK_API_KEY = /^(?:ABSK|bedrock-api-key-)/

export const nativeRows: readonly ChannelType[] = [
  row({
    type: ChannelTypeNumber.azure,
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
  }),
  row({
    type: ChannelTypeNumber.palm,
    label: { zh: 'PaLM2', en: 'Google PaLM 2' },
    color: 'orange',
    baseUrl: 'https://generativelanguage.googleapis.com',
    protocol: 'palm',
    notice: {
      zh: '谷歌已停止这项服务，请改用 Gemini',
      en: 'Google has ended this service; use Gemini instead',
    },
    legacy: true,
    retired: true,
  }),
  row({
    type: ChannelTypeNumber.anthropic,
    label: { zh: 'Anthropic', en: 'Anthropic Claude' },
    color: 'black',
    baseUrl: 'https://api.anthropic.com',
    protocol: 'anthropic',
  }),
  row({
    type: ChannelTypeNumber.qianfan,
    label: { zh: '百度文心千帆', en: 'Baidu Qianfan' },
    color: 'blue',
    baseUrl: 'https://aip.baidubce.com',
    protocol: 'baidu',
    key: keyOf('|', 'APIKey', 'SecretKey'),
    notice: {
      zh: '用于千帆应用的 API Key 与 Secret Key；若密钥以 bce-v3/ 开头，请选「百度文心千帆 V2」',
      en: 'Takes the two keys of an application; one that begins with bce-v3/ is for Qianfan V2',
    },
  }),
  row({
    type: ChannelTypeNumber.zhipu,
    label: { zh: '智谱 ChatGLM', en: 'Zhipu GLM' },
    color: 'violet',
    baseUrl: 'https://open.bigmodel.cn',
    protocol: 'zhipu',
    key: keyOf('.', 'id', 'secret'),
  }),
  row({
    type: ChannelTypeNumber.dashscope,
    label: { zh: '阿里通义千问', en: 'Alibaba DashScope' },
    color: 'orange',
    baseUrl: 'https://dashscope.aliyuncs.com',
    protocol: 'dashscope',
    fields: [field('plugin', { zh: '插件参数', en: 'Plugin parameter' }, { alsoOther: true })],
    notice: {
      zh: '通过兼容模式调用；模型名以 -internet 结尾时联网搜索，插件参数随请求头发送',
      en: 'Called by its compatible mode; a model name ending in -internet searches the web',
    },
  }),
  row({
    type: ChannelTypeNumber.spark,
    label: { zh: '讯飞星火认知', en: 'iFlytek Spark' },
    color: 'blue',
    protocol: 'xunfei',
    key: keyOf('|', 'APPID', 'APISecret', 'APIKey'),
    fields: [
      field(
        'api_version',
        { zh: '模型版本', en: 'Model version' },
        { alsoOther: true, placeholder: 'v2.1' },
      ),
    ],
    notice: {
      zh: '使用 WebSocket 接口；控制台给出 APIPassword 的，请选「讯飞星火认知 V2」',
      en: 'Speaks the WebSocket protocol; with an APIPassword choose iFlytek Spark V2',
    },
  }),
  row({
    type: ChannelTypeNumber.aiProxyLibrary,
    label: { zh: '知识库：AI Proxy', en: 'Knowledge base: AI Proxy' },
    color: 'purple',
    baseUrl: 'https://api.aiproxy.io',
    protocol: 'aiproxy-library',
    fields: [
      field(
        'library_id',
        { zh: '知识库 ID', en: 'Library ID' },
        { alsoOther: true, placeholder: '123456' },
      ),
    ],
    notice: {
      zh: '这项服务已经停止，请改用「知识库：FastGPT」或「OpenAI 兼容」',
      en: 'This service has ended; use FastGPT or an OpenAI-compatible one instead',
    },
    legacy: true,
    retired: true,
  }),
  row({
    type: ChannelTypeNumber.hunyuan,
    label: { zh: '腾讯混元', en: 'Tencent Hunyuan' },
    color: 'teal',
    baseUrl: 'https://hunyuan.tencentcloudapi.com',
    protocol: 'tencent',
    key: keyOf('|', 'AppId', 'SecretId', 'SecretKey'),
    notice: {
      zh: '以腾讯云 API 密钥签名调用；若是混元控制台的 sk- 密钥，请选「OpenAI 兼容」',
      en: 'Signs with a Tencent Cloud key; for an sk- key of Hunyuan choose OpenAI compatible',
    },
  }),
  row({
    type: ChannelTypeNumber.gemini,
    label: { zh: 'Gemini', en: 'Google Gemini' },
    color: 'orange',
    baseUrl: 'https://generativelanguage.googleapis.com',
    protocol: 'gemini',
    fields: [
      field(
        'api_version',
        { zh: 'API 版本', en: 'API version' },
        { alsoOther: true, placeholder: 'v1beta' },
      ),
    ],
  }),
  row({
    type: ChannelTypeNumber.ollama,
    label: 'Ollama',
    color: 'black',
    baseUrl: 'http://localhost:11434',
    protocol: 'ollama',
    key: {
      placeholder: {
        zh: '本地服务不检查密钥，任意填写',
        en: 'Not checked locally; any text will do',
      },
    },
  }),
  row({
    type: ChannelTypeNumber.bedrock,
    label: { zh: 'AWS', en: 'AWS Bedrock' },
    color: 'black',
    protocol: 'bedrock',
    key: { ...composedKey('ak', 'sk', 'region'), standsAlone: BEDROCK_API_KEY },
    baseUrlField: { mode: 'hidden' },
    fields: [
      regionField('us-west-2'),
      field(
        'ak',
        { zh: '访问密钥 ID（AK）或 Bedrock API 密钥', en: 'Access key ID (AK) or Bedrock API key' },
        { required: true, secret: true, placeholder: 'AKIA…' },
      ),
      field(
        'sk',
        { zh: '访问密钥（SK）', en: 'Secret access key (SK)' },
        { required: true, secret: true },
      ),
    ],
    hiddenFields: ['key', 'batch'],
    notice: {
      zh: '模型名可以是模型 ID、推理配置文件、ARN 或 Claude 的公开名称；使用 Bedrock API 密钥时 SK 留空',
      en: 'A model is an id, profile or ARN, or a public name of Claude; a Bedrock API key has no SK',
    },
  }),
  row({
    type: ChannelTypeNumber.coze,
    label: 'Coze',
    color: 'blue',
    baseUrl: 'https://api.coze.com',
    protocol: 'coze',
    fields: [
      field(
        'user_id',
        { zh: '用户 ID', en: 'User ID' },
        { required: true, placeholder: '7012345678901234567' },
      ),
    ],
    notice: {
      zh: '模型名就是智能体（Bot）的 ID，也可写成 bot-<ID>；用户 ID 是创建密钥的那位用户',
      en: 'A model is the id of a bot, or bot-<id>; the user ID is that of the key’s maker',
    },
  }),
  row({
    type: ChannelTypeNumber.cohere,
    label: 'Cohere',
    color: 'blue',
    baseUrl: 'https://api.cohere.ai',
    protocol: 'cohere',
  }),
  row({
    type: ChannelTypeNumber.cloudflare,
    label: { zh: 'Cloudflare', en: 'Cloudflare Workers AI' },
    color: 'orange',
    baseUrl: 'https://api.cloudflare.com',
    protocol: 'cloudflare',
    fields: [
      field(
        'user_id',
        { zh: '账户 ID（Account ID）', en: 'Account ID' },
        { required: true, placeholder: '0123456789abcdef0123456789abcdef' },
      ),
    ],
    notice: {
      zh: '账户 ID 是控制台地址里的 32 位十六进制字符；密钥是 API 令牌',
      en: 'The account ID is the 32 hex digits in the dashboard’s address; the key is an API token',
    },
  }),
  row({
    type: ChannelTypeNumber.deepl,
    label: 'DeepL',
    color: 'black',
    baseUrl: 'https://api-free.deepl.com',
    protocol: 'deepl',
    notice: {
      zh: '模型名给出目标语言，如 deepl-zh；以 :fx 结尾的免费密钥与付费密钥各走自己的地址',
      en: 'A model names the language, such as deepl-zh; free and paid keys find their address',
    },
  }),
  row({
    type: ChannelTypeNumber.vertex,
    label: { zh: 'VertexAI', en: 'Google Vertex AI' },
    color: 'blue',
    protocol: 'vertex',
    key: {
      ...composedKey('region', 'vertex_ai_project_id', 'vertex_ai_adc'),
      isOpenEnded: true,
    },
    fields: [
      regionField('us-east5'),
      field(
        'vertex_ai_project_id',
        { zh: '项目 ID', en: 'Project ID' },
        { required: true, placeholder: 'my-project-123456' },
      ),
      field(
        'vertex_ai_adc',
        { zh: '应用默认凭据（JSON）', en: 'Application default credentials (JSON)' },
        {
          required: true,
          secret: true,
          multiline: true,
          placeholder: '{"type":"service_account",…}',
        },
      ),
    ],
    hiddenFields: ['key', 'batch'],
  }),
  row({
    type: ChannelTypeNumber.proxy,
    label: 'Proxy',
    color: 'blue',
    protocol: 'proxy',
    key: {
      placeholder: {
        zh: '完整的 Authorization 值，例如 Bearer sk-…',
        en: 'The whole Authorization value, such as Bearer sk-…',
      },
    },
    baseUrlField: { mode: 'required', label: { zh: '上游地址', en: 'Upstream address' } },
    hiddenFields: ['models', 'model_mapping', 'system_prompt'],
    needsModels: false,
    notice: {
      zh: '请求原样转发到上游，不检查模型，也不按用量计费',
      en: 'Calls are passed on as they are: no model is checked and usage is not priced',
    },
  }),
  row({
    type: ChannelTypeNumber.replicate,
    label: 'Replicate',
    color: 'blue',
    baseUrl: 'https://api.replicate.com/v1/models',
    protocol: 'replicate',
  }),
  row({
    type: ChannelTypeNumber.anthropicCompatible,
    label: { zh: 'Anthropic 兼容', en: 'Anthropic compatible' },
    color: 'black',
    protocol: 'anthropic',
    baseUrlField: {
      mode: 'required',
      placeholder: 'https://llm.example.com/anthropic',
    },
    notice: {
      zh: '填写与 Claude Code 的 ANTHROPIC_BASE_URL 相同的地址，/v1/messages 由网关补上',
      en: 'Enter what Claude Code takes as ANTHROPIC_BASE_URL; /v1/messages is added',
    },
  }),
]
