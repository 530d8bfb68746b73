import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { formAsJson } from '../shared/image-form.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { drawnEdits, drawnWalk } from './image-content.ts'
import { heardEdits, heardWalk, recordingAsJson } from './transcription-content.ts'
import { imagenEdits, imagenWalk, isImagen } from './imagen.ts'
import { spokenEdits, spokenWalk } from './speech-content.ts'

/**
 * Images, speech and transcription by Google's models, on the Gemini API and on Vertex. Requests
 * and responses are in OpenAI's format; edits and a walk convert them.
 */
type Media = Pick<Provider, 'dialect' | 'edits' | 'via' | 'ofForm'>

const imagen: Media = { dialect: 'openai', edits: imagenEdits, via: () => inSteps(imagenWalk) }

const drawing: Media = {
  dialect: 'openai',
  edits: drawnEdits,
  ofForm: formAsJson,
  via: () => inSteps(drawnWalk),
}

const speaking: Media = { dialect: 'openai', edits: spokenEdits, via: () => inSteps(spokenWalk) }

const hearing: Media = {
  dialect: 'openai',
  edits: heardEdits,
  ofForm: recordingAsJson,
  via: () => inSteps(heardWalk),
}

/** Returns how a model performs such a task; null for all other tasks. */
export function googlesMedia(model: string, task: Task): Media | null {
  switch (task) {
    case 'images':
      return isImagen(model) ? imagen : drawing
    case 'imageEdits':
      return drawing
    case 'speech':
      return speaking
    case 'transcriptions':
    case 'translations':
      return hearing
    default:
      return null
  }
}

/** Method for the task; null if the model does not have it. */
export function mediaAction(model: string, task: Task): string | null {
  if (!isImagen(model)) return 'generateContent'
  return task === 'images' ? 'predict' : null
}
