import type { AnswerPart, ChatAnswer, ChatEvent } from '../canonical/chat-answer.ts'
import type { Tool } from '../canonical/chat-request.ts'
import type { UpstreamDialect } from './dialect.ts'

/**
 * The dialect for one call: tools whose names it has to change for its upstream are called by the
 * names the client gave them.
 */
export function withOwnToolNames(
  dialect: UpstreamDialect,
  tools: readonly Tool[],
): UpstreamDialect {
  const { toolName } = dialect
  if (toolName === undefined) return dialect
  const own = new Map(tools.map(({ name }) => [toolName(name), name]))
  const renamed = <T extends AnswerPart | ChatEvent>(said: T): T =>
    said.kind === 'toolCall' ? { ...said, name: own.get(said.name) ?? said.name } : said
  const renamedAnswer = (answer: ChatAnswer): ChatAnswer => ({
    ...answer,
    choices: answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map(renamed) })),
  })
  return {
    ...dialect,
    readAnswer: (answer) => renamedAnswer(dialect.readAnswer(answer)),
    streamReader: () => {
      const reader = dialect.streamReader()
      return { read: (value) => reader.read(value).map(renamed) }
    },
  }
}
