import type { Provider, Task } from '../../dialect/provider.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { recordingAsJson } from '../google/heard-content.ts'
import { heardEdits, heardWalk, hears } from './heard.ts'
import { draws, pictureEdits, pictureWalk } from './pictures.ts'
import { isRanking, rankingEdits, rankingWalk } from './ranking.ts'

/** Tasks at the URL of each model, whose format edits and a walk convert. */
type Media = Pick<Provider, 'edits' | 'via' | 'ofForm'>

const drawing: Media = { edits: pictureEdits, via: () => inSteps(pictureWalk) }

const ranking: Media = { edits: rankingEdits, via: () => inSteps(rankingWalk) }

const hearing: Media = {
  edits: heardEdits,
  ofForm: recordingAsJson,
  via: () => inSteps(heardWalk),
}

/** How a model does such a task; null if it is not supported this way. */
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
