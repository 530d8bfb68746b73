import { embeddedInParts } from '../shared/embedding-parts.ts'

/**
 * Source: Alibaba Cloud Model Studio, "Text embedding": ten texts for `text-embedding-v3` and
 * later, 25 before.
 */
export const embeddingWalk = embeddedInParts((model) => (/-v[12]$/.test(model) ? 25 : 10))
