import { embeddedInParts } from '../shared/embedding-parts.ts'

/**
 * Maximum texts per request: ten for `text-embedding-v3` and later, 25 before. Source: Alibaba
 * Cloud Model Studio, "Text embedding".
 */
export const embeddingWalk = embeddedInParts((model) => (/-v[12]$/.test(model) ? 25 : 10))
