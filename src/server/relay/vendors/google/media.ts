import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { formAsJson } from '../shared/image-form.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { drawnEdits, drawnWalk } from './image-content.ts'
import { heardEdits, heardWalk, recordingAsJson } from './transcription-content.ts'
import { imagenEdits, imagenWalk, isImagen } from './imagen.ts'
import { spokenEdits, spokenWalk } from './speech-content.ts'

/**
 * Images, voices and ears of Google's models, by the Gemini API and by Vertex: asked for and
 * answered in OpenAI's words, which edits and a walk turn into theirs.
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

/** How such a task is done by a model; null: it is none of them. */
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

/** The method that does it; null: the model has none. */
export function mediaAction(model: string, task: Task): string | null {
  if (!isImagen(model)) return 'generateContent'
  return task === 'images' ? 'predict' : null
}
