import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { recordingAsJson } from '../google/transcription-content.ts'
import { heardEdits, heardWalk, hears } from './transcriptions.ts'
import { draws, imageRequestEdits, imageWalk } from './images.ts'
import { isRanking, rankingEdits, rankingWalk } from './ranking.ts'

/** Tasks at the URL of each model, whose format edits and a walk convert. */
type Media = Pick<Provider, 'edits' | 'via' | 'ofForm'>

const drawing: Media = { edits: imageRequestEdits, via: () => inSteps(imageWalk) }

const ranking: Media = { edits: rankingEdits, via: () => inSteps(rankingWalk) }

const hearing: Media = {
  edits: heardEdits,
  ofForm: recordingAsJson,
  via: () => inSteps(heardWalk),
}

/** Returns how a model performs such a task; null if it does not support the task here. */
export function cloudflareMedia(model: string, task: Task): Media | null {
  switch (task) {
    case 'images':
      return draws(model) ? drawing : null
    case 'rerank':
      return isRanking(model) ? ranking : null
    case 'transcriptions':
    case 'translations':
      return hears(model, task) ? hearing : null
    default:
      return null
  }
}
