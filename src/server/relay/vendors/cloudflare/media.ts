import type { Provider, Task } from '../../dialect/provider.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { recordingAsJson } from '../google/heard-content.ts'
import { heardEdits, heardWalk, hears } from './heard.ts'
import { draws, pictureEdits, pictureWalk } from './pictures.ts'
import { isRanking, rankingEdits, rankingWalk } from './ranking.ts'

/** What Workers AI does at an address of each model, which edits and a walk turn into its words. */
type Media = Pick<Provider, 'edits' | 'via' | 'ofForm'>

const drawing: Media = { edits: pictureEdits, via: () => inSteps(pictureWalk) }

const ranking: Media = { edits: rankingEdits, via: () => inSteps(rankingWalk) }

const hearing: Media = {
  edits: heardEdits,
  ofForm: recordingAsJson,
  via: () => inSteps(heardWalk),
}

/** How such a task is done by a model; null: not this way. */
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
