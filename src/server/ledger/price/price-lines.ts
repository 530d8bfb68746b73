import type { PriceLine as ToldLine } from '../../../contract/call-cost.ts'
import type { Price, UsedTokens } from '../price.ts'

/**
 * What a call used that is not simply text tokens. Token figures are parts of the call's prompt and
 * completion; the others stand beside them.
 */
export interface UsedExtras {
  /** Speech in the prompt and in the completion. */
  audioPromptTokens?: number
  audioCompletionTokens?: number
  /** Speech among what was read from the upstream's cache. */
  audioCachedTokens?: number
  /** Pictures in the prompt and in the completion, where the vendor counts them as tokens. */
  imagePromptTokens?: number
  imageCompletionTokens?: number
  /** Pictures that are sold by the piece. */
  pictures?: SoldPictures
  /** Recorded speech, begun seconds counted as whole ones. */
  seconds?: number
  /** Of a model that is sold by the call, how many it was; 1 when absent. */
  calls?: number
  /** Tools that the upstream ran itself: name → calls. */
  tools?: Readonly<Record<string, number>>
  /** One of them as its model's tokens, which are paid for instead where that model has a price. */
  toolTokens?: ToolTokens
}

interface SoldPictures {
  count: number
  size: string
  quality: string
  /** Of what is shown of them before they are done, where the vendor counts tokens. */
  partialTokens?: number
}

interface ToolTokens {
  tool: string
  /** That the tool has run. */
  model: string
  used: UsedTokens
}

export interface PriceLine extends ToldLine {
  kind: LineKind
  ratios: string[]
}

export type LineKind =
  | 'prompt'
  | 'cached'
  | 'audio_cached'
  | 'cache_write'
  | 'cache_write_hour'
  | 'audio_prompt'
  | 'image_prompt'
  | 'completion'
  | 'audio_completion'
  | 'image_completion'
  | 'picture'
  | 'second'
  | 'call'
  | 'tool'

/** By agreement a picture, and a minute of recorded speech, is so many prompt tokens. */
const TOKENS_APIECE = '1000'
const SECONDS_PER_MINUTE = 60
/** That a tool's price is for. */
const PER_CALLS = 1000

/** Every term that is not zero, in the order people read them. */
export function priceLines(price: Price, used: UsedTokens): PriceLine[] {
  const { extras = {} } = used
  const isUsed = used.promptTokens + used.completionTokens > 0 || used.extras !== undefined
  const lines: PriceLine[] =
    price.perCall === null
      ? [...tokenLines(price, used), ...pieceLines(price, used)]
      : [
          {
            kind: 'call',
            count: extras.calls ?? extras.pictures?.count ?? (isUsed ? 1 : 0),
            ratios: [price.perCall, price.quotaPerUnit],
            per: 1,
          },
        ]
  return [...lines, ...toolLines(price, extras)].filter(({ count }) => count > 0)
}

function toolLines(price: Price, { tools = {}, toolTokens }: UsedExtras): PriceLine[] {
  const byToken = toolTokens === undefined ? [] : modelLines(price, toolTokens)
  const byCall = Object.entries(tools).flatMap(([name, count]): PriceLine[] => {
    const dollars = price.toolPrice(name)
    if (dollars === undefined || (byToken.length > 0 && name === toolTokens?.tool)) return []
    return [{ kind: 'tool', name, count, ratios: [dollars, price.quotaPerUnit], per: PER_CALLS }]
  })
  return [...byToken, ...byCall]
}

/** Of a model that draws; none, where it has no price for pictures by the token. */
function modelLines(price: Price, { model, used }: ToolTokens): PriceLine[] {
  const other = price.ofModel(model)
  if (other === null || other.perCall !== null || other.imageCompletionRatio === null) return []
  return tokenLines(other, used).map((line) => ({ ...line, name: model }))
}

/** Tokens of the prompt that were neither read from a cache nor written to one. */
export function freshTokensOf(used: UsedTokens): number {
  const { promptTokens, cachedTokens, cacheOverlapTokens = 0 } = used
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = used
  return promptTokens - cachedTokens - cacheWriteTokens - cacheWriteHourTokens + cacheOverlapTokens
}

/** Parts of the prompt and of the completion; what vendors report too much of is cut down. */
function tokenLines(price: Price, used: UsedTokens): PriceLine[] {
  const { cachedTokens, completionTokens, extras = {} } = used
  // Of what is sold by the piece alone, the prompt is in the price.
  if (extras.pictures !== undefined && price.imageCompletionRatio === null) return []
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = used
  let fresh = freshTokensOf(used)
  const audio = Math.min(extras.audioPromptTokens ?? 0, fresh)
  fresh -= audio
  const image = Math.min(extras.imagePromptTokens ?? 0, fresh)
  fresh -= image
  const heardBefore = Math.min(extras.audioCachedTokens ?? 0, cachedTokens)
  const spoken = Math.min(extras.audioCompletionTokens ?? 0, completionTokens)
  const drawn = Math.min(extras.imageCompletionTokens ?? 0, completionTokens - spoken)
  const line = (kind: LineKind, count: number, ...own: string[]): PriceLine => ({
    kind,
    count,
    ratios: [price.modelRatio, ...own],
    per: 1,
  })
  return [
    line('prompt', fresh),
    line('cached', cachedTokens - heardBefore, price.cacheRatio),
    line('audio_cached', heardBefore, price.audioRatio, price.cacheRatio),
    line('cache_write', cacheWriteTokens, price.cacheWriteRatio),
    line('cache_write_hour', cacheWriteHourTokens, price.cacheWriteHourRatio),
    line('audio_prompt', audio, price.audioRatio),
    line('image_prompt', image, price.imageRatio),
    line('completion', completionTokens - spoken - drawn, price.completionRatio),
    price.audioCompletionRatio === null
      ? line('audio_completion', spoken, price.completionRatio)
      : line('audio_completion', spoken, price.audioRatio, price.audioCompletionRatio),
    line('image_completion', drawn, price.imageCompletionRatio ?? price.completionRatio),
  ]
}

/** Models that sell pictures by the token are charged by the piece when nobody counted tokens. */
const isByPiece = (price: Price, { completionTokens, extras }: UsedTokens): boolean =>
  extras?.pictures !== undefined && (price.imageCompletionRatio === null || completionTokens === 0)

function pieceLines(price: Price, used: UsedTokens): PriceLine[] {
  const { pictures, seconds } = used.extras ?? {}
  const lines: PriceLine[] = []
  if (pictures !== undefined && isByPiece(price, used)) {
    const { count, size, quality } = pictures
    const factor = price.pictureFactor(size, quality)
    const name = [quality, size].filter((part) => part !== '').join(' ')
    const ratios = [price.modelRatio, TOKENS_APIECE, factor]
    lines.push({ kind: 'picture', ...(name === '' ? {} : { name }), count, ratios, per: 1 })
    if (price.imageCompletionRatio !== null) {
      const ofPartial = [price.modelRatio, price.imageCompletionRatio]
      const tokens = pictures.partialTokens ?? 0
      lines.push({ kind: 'image_completion', count: tokens, ratios: ofPartial, per: 1 })
    }
  }
  if (seconds !== undefined) {
    const ratios = [price.modelRatio, TOKENS_APIECE]
    lines.push({ kind: 'second', count: seconds, ratios, per: SECONDS_PER_MINUTE })
  }
  return lines
}
