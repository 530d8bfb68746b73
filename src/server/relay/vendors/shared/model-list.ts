import { z } from 'zod'
import { bearerOf } from '../../../../contract/channel-types.ts'
import { configTexts, parseConfigObject } from '../../../channel/channel-config.ts'
import {
  baseUrlOf,
  belowVersion,
  type AskedChannel,
  type UpstreamQuestion,
} from '../../../channel/upstream/channel-upstream.ts'

/** How to request the model list of an upstream, and where the response contains the names. */
export interface ModelList {
  /** `geminiVersion`: version of Gemini's API for channels that name none. */
  question(channel: AskedChannel, geminiVersion: string): UpstreamQuestion
  /** Parses the answer into names. */
  readonly shape: z.ZodType<string[]>
}

export const bearer = ({ type, key }: AskedChannel): Record<string, string> => ({
  authorization: `Bearer ${bearerOf(type, key).secret}`,
})

/** Parses `{ [list]: [{ [member]: name }] }` into names. */
export const namesIn = (list: string, member: string): z.ZodType<string[]> =>
  z
    .object({ [list]: z.array(z.object({ [member]: z.string() })) })
    .transform((answer) => (answer[list] ?? []).map((model) => model[member] ?? ''))

/** Google prefixes the names of its models with `models/`. */
export const withoutModelsPrefix = (name: string): string => name.replace(/^models\//, '')

export const openaiModelList: ModelList = {
  question: (channel) => ({
    url: belowVersion(channel, '/v1/models'),
    headers: bearer(channel),
  }),
  shape: namesIn('data', 'id'),
}

/**
 * List in OpenAI's format below a path; a base URL that ends in a version replaces the version in
 * that path.
 */
export const modelListBelow = (path: string): ModelList => ({
  question(channel) {
    const base = baseUrlOf(channel)
    const root = /\/v\d+$/.test(base) ? base : `${base}${path}`
    return { url: `${root}/models`, headers: bearer(channel) }
  },
  shape: namesIn('data', 'id'),
})

/** Texts in a channel's `config`. */
export const configOf = (channel: AskedChannel): ReturnType<typeof configTexts> =>
  configTexts(parseConfigObject(channel.config) ?? {})
