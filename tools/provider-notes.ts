import type { Protocol } from '../src/contract/channel-types.ts'

/** What docs/providers says of a protocol that its code does not show by itself. */
export interface ProviderNotes {
  /** Title of the provider's documentation that the converters follow. */
  source: string
  chat: Readonly<Record<'pictures' | 'tools' | 'json' | 'thinking' | 'usage', string>>
  notes: readonly string[]
}

const AS_OPENAI = {
  pictures: 'as data or by address, where the model sees',
  tools: 'yes',
  json: 'as the model offers it',
  thinking: '`reasoning_effort` in, `reasoning_content` out',
  usage: 'asked for in streams; counted here when it does not come',
} as const

const GOOGLES_MEDIA = [
  'For OpenAI’s clients `imagen-…` and Gemini’s picture models draw, and the latter change pictures, ' +
    'sent as files or in JSON: sizes become the nearest shape (from Gemini 3 on 2K and 4K, too), ' +
    'and pictures come as bytes, or as an address that holds them. Gemini draws one picture a ' +
    'call, so several take as many calls.',
  'Gemini’s voices read aloud into `wav` (unless it is said otherwise) or `pcm`, `instructions` ' +
    'before the text. Other formats, and another `speed`, are refused.',
  'Gemini’s models write recordings down, and translate them, as `json` or `text`; times, subtitles ' +
    'and who speaks are refused.',
] as const

export const providerNotes: Readonly<Partial<Record<Protocol, ProviderNotes>>> = {
  azure: {
    source: 'Azure OpenAI, REST API reference; API version lifecycle',
    chat: AS_OPENAI,
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
  anthropic: {
    source: 'Anthropic, API reference: Messages, Streaming messages',
    chat: {
      pictures: 'jpeg, png, gif, webp; as data or by address',
      tools: 'yes',
      json: 'by a schema; without one it is asked for in words',
      thinking: 'budgets or efforts, by model; seals are kept',
      usage: 'always; cache reads and writes apart',
    },
    notes: [
      '`anthropic-version` and `anthropic-beta` of Anthropic’s clients travel on.',
      'A compatible server (type 52) gets the key in both places where one may look for it.',
    ],
  },
  gemini: {
    source:
      'Google, Gemini API reference: Generating content, Embeddings; Image generation, Imagen, Speech ' +
      'generation, Audio understanding',
    chat: {
      pictures: 'as data, or by an https address that Google fetches',
      tools: 'yes',
      json: 'with or without a schema',
      thinking: 'budgets or levels, by model; seals are kept',
      usage: 'always; thoughts apart',
    },
    notes: [
      'More than 100 texts to embed go in several calls, of clients of OpenAI.',
      'What vectors are for can be said by `task_type` or Cohere’s `input_type`.',
      ...GOOGLES_MEDIA,
    ],
  },
  zhipu: {
    source:
      'Zhipu, API reference: Chat completion, Embeddings, Rerank, Images, Text to speech (fourth ' +
      'version)',
    chat: {
      ...AS_OPENAI,
      thinking:
        '`thinking` and `reasoning_effort` in, `reasoning_content` out; GLM-5.3 always does',
    },
    notes: [
      'The key is sent as it is, which the fourth version takes.',
      '`max_completion_tokens` becomes `max_tokens`, and the role `developer` `system`.',
      'More than 64 texts to embed go in several calls.',
      '`temperature` 0 becomes `do_sample: false`, above 1 becomes 1; `top_p` is at least 0.01.',
      'An address that ends in a version is taken as it is: plans for coding have their own.',
      'Speech has voices and formats of Zhipu’s own, which a client must name.',
      'Why a model stopped is told in OpenAI’s words; `network_error` is an error, and another ' +
        'channel is asked.',
      'Models of the third version (`chatglm_…`) are gone and not spoken with.',
      'Moderation is missing here: Zhipu has it, with answers that are not OpenAI’s.',
    ],
  },
  dashscope: {
    source:
      'Alibaba Cloud Model Studio: OpenAI compatible – Chat, Embedding; Text rerank; Qwen-Image; ' +
      'Qwen-Image-Edit; Wan text-to-image V2, general image editing 2.5; asynchronous tasks; ' +
      'Qwen-TTS; CosyVoice HTTP API; Qwen-ASR',
    chat: {
      ...AS_OPENAI,
      thinking: '`enable_thinking` and `thinking_budget` in, `reasoning_content` out',
    },
    notes: [
      'Spoken with by the compatible mode, which answers for the same models with the same keys; ' +
        'rankings, pictures and sound by calls of its own beside it, whichever of the two the ' +
        'address names. Channels of type 49 are asked for these likewise.',
      'More than ten texts to embed (25 of the first two versions) go in several calls.',
      'Pictures of `qwen-image…`, `z-image…` and `wan2.6` come at once. The others are tasks, asked ' +
        'about for ten minutes at most and cancelled when nobody waits for them. Whoever wants bytes ' +
        'instead of addresses gets them from `*.aliyuncs.com` or the channel’s own host only.',
      'The models that draw at once change pictures, too, and so does `wan2.5-i2i…` by a task: sent ' +
        'as files, in JSON or by address. A mask, `input_fidelity` and other formats are refused.',
      '`qwen-tts…` and `qwen3-tts…` read aloud into `wav`, `cosyvoice-…` into `mp3` (unless it is said ' +
        'otherwise), `wav`, `pcm` or `opus`, with voices of Alibaba’s own. Other formats are refused, ' +
        'and by Qwen another `speed`. Models named `…realtime` have a WebSocket only.',
      '`qwen3-asr-flash` writes recordings down as `json` or `text`; times, subtitles, who speaks and ' +
        'a `temperature` are refused. Models that take addresses of files only (`…-filetrans`, ' +
        'Paraformer) are missing here.',
      'A model whose name ends in `-internet` is asked without that ending and searches the web.',
      '`ali-` before `stable-diffusion…` is left out.',
      '`top_p` of 1 becomes 0.9999, as 1 is refused, and the role `developer` `system`.',
      'Most models think in a stream only: it is asked for, and put together for who wants the whole.',
    ],
  },
  cloudflare: {
    source:
      'Cloudflare, Workers AI: OpenAI compatible API endpoints, REST API, Models; AI Gateway: Workers AI',
    chat: AS_OPENAI,
    notes: [
      'An address of the AI Gateway has the account in it; the field is then not used.',
      'Asked at `/ai/run`: `flux-1-schnell`, `lucid-origin`, `phoenix-1.0`, `dreamshaper-8-lcm` and ' +
        'Stable Diffusion XL draw one picture a call, up to 1024 × 1024 (Flux that alone), in as many ' +
        'steps as is usual; `whisper-large-v3-turbo` writes down and translates as `json`, `text` or ' +
        '`vtt`, the older `whisper` writes down without a word about the recording; ' +
        '`bge-reranker-base` ranks. What they have no word for is refused.',
      'Missing here: speech, Deepgram’s models, changes of pictures, FLUX.2 and `/v1/completions`.',
      'The role `developer` becomes `system`.',
    ],
  },
  cohere: {
    source: 'Cohere, API reference, second version: Chat, Embed, Rerank',
    chat: {
      pictures: 'as data or by address, where the model sees',
      tools: 'yes; which one must be called is said by showing that one alone',
      json: 'with or without a schema',
      thinking: 'a budget of tokens; plans for tools count as thought',
      usage: '`billed_units`, or `tokens` where they are missing',
    },
    notes: [
      'Embeddings are made to be searched (`search_document`) unless a client says otherwise, by ' +
        '`input_type` or Gemini’s `task_type`.',
      'More than 96 texts to embed go in several calls.',
      'Models named `rerank-…` rank; documents are texts, or objects with one, and are not given back.',
      'Searching the web went with the first version: names that end in `-internet` are refused.',
    ],
  },
  ollama: {
    source: 'Ollama, API reference: Generate a chat completion, Generate embeddings',
    chat: {
      pictures: 'as data',
      tools: 'yes; that one must be called is asked for in words',
      json: 'with or without a schema',
      thinking: 'on or off; by a word for gpt-oss',
      usage: 'in the last line; a prompt that was kept from before is counted here',
    },
    notes: [
      'Ids of calls are made here where the server gives none.',
      '`/v1/completions` is missing here: a channel of type 50 to the same server has it.',
    ],
  },
  bedrock: {
    source:
      'Amazon Bedrock, API reference: Converse, ConverseStream, InvokeModel; user guides: Nova Canvas, ' +
      'Titan Image Generator, Stability AI models, Use a reranker model; AWS: Signature V4',
    chat: {
      pictures: 'as data; documents likewise',
      tools: 'yes',
      json: 'by a schema, of models that Bedrock holds to one; without one it is asked for in words',
      thinking: 'of Claude as Anthropic has it; of gpt-oss, Qwen3 and Nova 2 by effort',
      usage: 'always; cache reads and writes apart',
    },
    notes: [
      'Claude is invoked in Anthropic’s own words, all other models by Converse. Of the betas that ' +
        'clients name those go along that Amazon knows and the request makes use of.',
      'A model is an id of Bedrock’s, an inference profile, or an ARN. Claude’s public names and ' +
        'those of the models that a channel is offered are understood too. They are reached by the ' +
        'profile of the region’s continent where they have one; Claude from 4.5 on by that of the ' +
        'United States (and Canada), Europe, Japan or Australia, else by the global one.',
      'The checksums of every message of a stream are verified.',
      'Titan embeds one text a call: several are asked for one after the other, 256 at most. ' +
        'More than 96 for Cohere go in several calls.',
      '`amazon.nova-canvas-…` and `amazon.titan-image-generator-…` draw; `hd` and `high` are their ' +
        '`premium`. Pictures that are sent are drawn anew after them (`IMAGE_VARIATION`), or changed ' +
        'where `maskPrompt` says (`INPAINTING`); a mask as a picture is refused. ' +
        '`stability.stable-image-core-…`, `…-ultra-…` and `stability.sd3…` draw one picture a call in ' +
        'the nearest shape; the models of Stability that change pictures are missing here.',
      '`cohere.rerank-…` and `amazon.rerank-…` rank, sold by the search; documents are texts, or ' +
        'objects with one, and are not given back.',
      'A document without a name, or with that of another, gets a number.',
      'Where no tool may be called, but calls stand in the conversation, they are told as text: ' +
        'Converse has no word for it.',
      'An API key of Bedrock takes the place of the access key ID, without a secret access key; ' +
        'what is stored is then `api_key|region`. Temporary keys of AWS, which need a session token ' +
        'and end within hours, are not taken.',
    ],
  },
  vertex: {
    source:
      'Google, Vertex AI REST reference: publishers.models; Claude models; Mistral AI models; MaaS for ' +
      'open models; OAuth 2.0 for server to server applications',
    chat: {
      pictures: 'as Gemini, Anthropic or OpenAI has them',
      tools: 'yes',
      json: 'as Gemini or Anthropic has it',
      thinking: 'as Gemini or Anthropic has it',
      usage: 'always',
    },
    notes: [
      '`claude-…` goes to Anthropic’s models, `mistral-…`, `codestral-…` and `mistralai/…` to ' +
        'Mistral’s, `maker/model` to open ones, the rest to Gemini. Of Anthropic’s betas those go ' +
        'along that Google knows and the request makes use of.',
      'Credentials are those of a service account, or of a user with a refresh token. Access ' +
        'tokens are kept until five minutes before they end; `token_uri` is called by the rules ' +
        'for outgoing calls.',
      'The region may be `global`, `us` or `eu`. Dated names of Claude get their `@` here.',
      'Texts are embedded by `predict`, those of `gemini-embedding-001` one after the other; later ' +
        'models by `embedContent`.',
      ...GOOGLES_MEDIA,
    ],
  },
  tencent: {
    source:
      'Tencent Cloud API documentation, Hunyuan: ChatCompletions, GetEmbedding, Error codes; ' +
      'Signature v3',
    chat: {
      pictures: 'as data or by address, where the model sees',
      tools: 'yes; one certain tool can be demanded',
      json: 'no',
      thinking: 'on or off; thoughts in the answer are told',
      usage: 'in every event',
    },
    notes: [
      'Requests are signed by TC3-HMAC-SHA256, in the name of `hunyuan.tencentcloudapi.com` also ' +
        'behind a reverse proxy. The first part of the key is not used.',
      'A limit on the answer’s length has no word there and is left behind.',
      'More than 50 texts to embed go in several calls.',
      'With a plain key of Hunyuan’s OpenAI-compatible address ' +
        '(`https://api.hunyuan.cloud.tencent.com/v1`) choose the type OpenAI compatible.',
    ],
  },
  baidu: {
    source:
      'Baidu AI Cloud, Qianfan ModelBuilder, API reference: ERNIE models, Embeddings, Reranker, ' +
      'Get an access token, Error codes',
    chat: {
      pictures: 'no',
      tools: 'one call a turn; several results are told one after the other',
      json: 'without a schema',
      thinking: 'no; what is thought about a call is told',
      usage: 'in the last event',
    },
    notes: [
      'An access token is fetched with the two keys, by the rules for outgoing calls and through ' +
        'the channel’s proxy. It is kept until its last hour; one that Baidu refuses is changed ' +
        'for another within the call.',
      '`temperature` is held between 0.01 and 1, `max_tokens` is at least 2; a ' +
        '`frequency_penalty` from 1 to 2 is `penalty_score`.',
      'Models named `Embedding-…`, `bge-…` and `tao-8k` embed, `bce-reranker…` rank; a model not ' +
        'known here is called by its name in small letters.',
      'More than 16 texts to embed, of `tao-8k` more than one, go in several calls; by Qianfan V2 too.',
    ],
  },
  xunfei: {
    source:
      'iFlytek Open Platform, Spark: Web API, Deep reasoning by WebSocket, General URL authentication; ' +
      'RFC 6455',
    chat: {
      pictures: 'no',
      tools: 'one call a turn; that one must be called is asked for in words',
      json: 'no',
      thinking: 'no; thoughts in the answer are told',
      usage: 'in the last frame',
    },
    notes: [
      'Spoken with over a WebSocket for each call, at `wss://spark-api.xf-yun.com` or the ' +
        'channel’s own address: by the rules for outgoing calls, through the channel’s proxy, ' +
        'with the same deadlines as all calls.',
      'The version in the channel’s form decides which model answers. Without one the model’s ' +
        'name does: those of iFlytek’s list, else what follows the first dash (`SparkDesk-v3.5`). ' +
        '`x1.5` and `x2`, or `Spark-X1.5` and `Spark-X2`, are the models that think.',
      'The protocol has no word for what a tool gave back: calls and results are told as what ' +
        'was said. Models before Max know no system prompt: it begins the first question.',
      '`temperature` is held between 0.01 and 1.',
    ],
  },
  coze: {
    source: 'Coze, developer guide: Chat (v3), Streaming response, Error codes',
    chat: {
      pictures: 'by address, also sound and files; bytes are refused',
      tools: 'no: a bot has its own',
      json: 'no',
      thinking: 'thoughts in the answer are told',
      usage: 'at the end; counted here when it does not come',
    },
    notes: [
      'A model is a bot’s id, or `bot-` and its id. Instructions come as the user’s first message.',
      'Limits, figures for sampling and stop texts are the bot’s own; a client’s are left behind.',
      'Whole answers are put together from a stream, and conversations are not kept at Coze.',
      'Bots of mainland China live at `https://api.coze.cn`: the channel’s address.',
    ],
  },
  replicate: {
    source:
      'Replicate, HTTP API reference: Create, Get and Cancel a prediction; Streaming output; input ' +
      'schemas of the official models',
    chat: {
      pictures: 'one, as data or by address; several for models of OpenAI and Google',
      tools: 'no',
      json: 'no',
      thinking: 'no',
      usage: 'of models that are sold by the token; otherwise counted here',
    },
    notes: [
      'A model is `owner/name`, or `owner/name:version` for other people’s models.',
      'A conversation is written down as one prompt, as these models take one.',
      'Instructions, the limit and pictures go by the names of the model’s owner. Claude’s models ' +
        'take no limit below 1024: smaller ones become that.',
      'A prediction that is not over in time is asked about, for ten minutes at most, and cancelled ' +
        'when nobody waits for it.',
      'Streams are followed, and pictures fetched for clients that want bytes, at Replicate’s own ' +
        'hosts and the channel’s only. Addresses of pictures end after an hour.',
      'Members of a picture request that OpenAI does not know go to the model as they are.',
    ],
  },
  deepl: {
    source: 'DeepL, API reference: Translate text, Authentication, Retrieve supported languages',
    chat: {
      pictures: 'no',
      tools: 'no',
      json: 'no',
      thinking: 'no',
      usage:
        'characters of the text, as prompt tokens, counted here where DeepL does not say; the ' +
        'translation costs nothing',
    },
    notes: [
      'A model names the language: `deepl-ja`, `deepl-en-gb`; `-more` or `-less` behind it, how ' +
        'formal the translation is to be.',
      'The last message of the user is translated. What was said before, limits and figures for ' +
        'sampling mean nothing to a translator and are left behind.',
      'Keys that end in `:fx` go to the address of the free plan, all others to the paid one.',
      'An account whose characters are spent (456) counts as one without money (402).',
    ],
  },
}
