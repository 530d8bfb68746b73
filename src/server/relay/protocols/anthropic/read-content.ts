import type {
  AssistantPart,
  MediaPart,
  MediaSource,
  TextPart,
  ToolResultPart,
  UserPart,
} from '../canonical/chat-request.ts'
import { mediaType } from '../canonical/media.ts'
import {
  invalidField,
  readCacheMark,
  unsupportedField,
  type Members,
} from '../canonical/reading.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import { ownCallId } from './call-ids.ts'

/**
 * Reads the content of messages. Source: Anthropic's API reference, "Create a message", `messages`.
 */

/** Reads a string or text blocks. */
export function readTexts(owner: Members, name: string): TextPart[] {
  const value = owner.any(name)
  if (value === null) return []
  if (typeof value === 'string') return [plainText(value)]
  return owner.objects(name).map((block) => {
    if (block.text('type') !== 'text') throw unsupportedField(block.place('type'))
    return readText(block)
  })
}

const plainText = (text: string): TextPart => ({ kind: 'text', text, cache: null })

/** A text block. */
export function readText(block: Members): TextPart {
  block.ignore('type', 'citations')
  const read: TextPart = {
    kind: 'text',
    text: block.textOrThrow('text'),
    cache: readCacheMark(block),
  }
  block.done()
  return read
}

/** Reads a user message: texts, media and tool results. */
export function readUser(message: Members): UserPart[] {
  const content = message.any('content')
  if (typeof content === 'string') return [plainText(content)]
  return message
    .objects('content')
    .flatMap((block): UserPart[] =>
      block.text('type') === 'tool_result' ? [readResult(block)] : readShown(block),
    )
}

/** Reads content for the model: a text, an image or a document. */
function readShown(block: Members): (TextPart | MediaPart)[] {
  const type = block.textOrThrow('type')
  switch (type) {
    case 'text':
      return [readText(block)]
    case 'image':
    case 'document':
      return readMedia(block, type)
    case 'search_result':
      return [readSearchResult(block)]
    case 'tool_reference':
      return [readToolReference(block)]
    default:
      throw unsupportedField(block.place('type'))
  }
}

/** Reads a result of tool search: a reference to one of the request's tools. */
function readToolReference(block: Members): TextPart {
  const text = `Tool available: ${block.textOrThrow('tool_name')}\n`
  const read: TextPart = { kind: 'text', text, cache: readCacheMark(block) }
  block.done()
  return read
}

function readSearchResult(block: Members): TextPart {
  refuseCitations(block)
  const words = [block.textOrThrow('title'), block.textOrThrow('source')]
  const texts = readTexts(block, 'content').map(({ text }) => text)
  const text = `${[...words, ...texts].join('\n')}\n`
  const read: TextPart = { kind: 'text', text, cache: readCacheMark(block) }
  block.done()
  return read
}

/** Rejects document citations, which no other dialect supports. */
function refuseCitations(block: Members): void {
  const citations = block.object('citations')
  if (citations?.flag('enabled') === true) throw unsupportedField(block.place('citations'))
}

function readMedia(block: Members, type: 'image' | 'document'): (TextPart | MediaPart)[] {
  const source = block.object('source')
  if (source === null) throw invalidField(block.place('source'))
  const title = block.text('title')
  refuseCitations(block)
  // Handling of images that are too large.
  block.drop('transformations')
  if (source.text('type') === 'content') return readContentDocument(block, source)
  const read: MediaPart = {
    kind: 'media',
    at: block.at,
    source: readSource(source, type),
    detail: null,
    title,
    cache: readCacheMark(block),
  }
  const words = [read.source.from === 'text' ? title : null, block.text('context')]
  block.done()
  return [...words.filter((text) => text !== null).map(plainText), read]
}

/** Reads a document of texts and images, which become parts of the user message. */
function readContentDocument(block: Members, source: Members): (TextPart | MediaPart)[] {
  block.ignore('cache_control')
  const words = [block.text('title'), block.text('context')].filter((text) => text !== null)
  block.done()
  return [...words.map(plainText), ...readContent(source)]
}

/** Reads a string or content blocks. */
function readContent(owner: Members): (TextPart | MediaPart)[] {
  const content = owner.any('content')
  return typeof content === 'string'
    ? [plainText(content)]
    : owner.objects('content').flatMap(readShown)
}

function readSource(source: Members, family: 'image' | 'document'): MediaSource {
  const read = readPlace(source, family)
  // Text sources always have the same media type.
  source.ignore('media_type')
  source.done()
  return read
}

function readPlace(source: Members, family: 'image' | 'document'): MediaSource {
  switch (source.textOrThrow('type')) {
    case 'base64':
      return {
        from: 'data',
        mimeType: mediaType(source.textOrThrow('media_type')),
        data: source.textOrThrow('data'),
      }
    case 'url':
      return { from: 'url', url: source.textOrThrow('url'), mimeType: null, family }
    case 'text':
      return { from: 'text', text: source.textOrThrow('data') }
    default:
      // A file stored at Anthropic cannot be read by another provider.
      throw unsupportedField(source.place('type'))
  }
}

function readResult(block: Members): ToolResultPart {
  const read: ToolResultPart = {
    kind: 'toolResult',
    callId: ownCallId(block.textOrThrow('tool_use_id')),
    name: null,
    parts: readContent(block),
    isError: block.flag('is_error') ?? false,
    cache: readCacheMark(block),
  }
  block.done()
  return read
}

/** Reads an assistant message: texts, thoughts and tool calls. */
export function readAssistant(message: Members): AssistantPart[] {
  const content = message.any('content')
  if (typeof content === 'string') return [plainText(content)]
  return message.objects('content').filter(isSaid).map(readAssistantPart)
}

/**
 * Whether a block is not part of a finished hosted search, for tools or on the web. Tools that it
 * found are declared in the request, and the text after it has its web results.
 */
function isSaid(block: Members): boolean {
  const type = block.text('type')
  if (type === 'tool_search_tool_result' || type === 'web_search_tool_result') return false
  return type !== 'server_tool_use' || !SEARCHES.test(block.text('name') ?? '')
}

const SEARCHES = /^(?:tool_search_tool|web_search$)/

function readAssistantPart(block: Members): AssistantPart {
  switch (block.textOrThrow('type')) {
    case 'text':
      return readText(block)
    case 'thinking': {
      const signature = block.text('signature')
      return {
        kind: 'thinking',
        text: block.text('thinking') ?? '',
        signature: signature ? unwrapSignature(signature, 'anthropic') : null,
        redacted: null,
      }
    }
    case 'redacted_thinking':
      return { kind: 'thinking', text: '', signature: null, redacted: block.textOrThrow('data') }
    case 'tool_use':
      block.ignore('caller')
      return {
        kind: 'toolCall',
        id: ownCallId(block.textOrThrow('id')),
        name: block.textOrThrow('name'),
        argumentsJson: JSON.stringify(block.record('input') ?? {}),
        signature: null,
        cache: readCacheMark(block),
      }
    default:
      throw unsupportedField(block.place('type'))
  }
}
