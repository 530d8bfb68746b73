import type { FastifyRequest } from 'fastify'
import type { BodyClass } from '../../contract/endpoint.ts'
import { AppError } from '../app-error.ts'

const KIBIBYTE = 2 ** 10
const MEBIBYTE = 2 ** 20

export interface BodyLimit {
  /** Maximum bytes, both compressed and decompressed. */
  bytesMax: number
  /** Maximum number of object members and list elements in the whole body. */
  valuesMax: number
}

/**
 * Limits of request bodies of the management API. They bound the time for parsing on the event
 * loop: less than 1 ms for a public body, less than 100 ms for a bulk one.
 */
export const BODY_LIMITS: Record<BodyClass, BodyLimit> = {
  public: { bytesMax: 64 * KIBIBYTE, valuesMax: 1000 },
  ordinary: { bytesMax: 256 * KIBIBYTE, valuesMax: 10_000 },
  bulk: { bytesMax: 8 * MEBIBYTE, valuesMax: 200_000 },
}

/** Maximum nesting depth of objects and lists in a request body. */
export const BODY_DEPTH_MAX = 32

/** Formats a number of bytes for error texts: `64 KB`, `8 MB`. */
export const sizeText = (bytes: number): string =>
  bytes < MEBIBYTE ? `${bytes / KIBIBYTE} KB` : `${Math.round(bytes / MEBIBYTE)} MB`

export const bodyTooLarge = ({ routeOptions }: FastifyRequest, cause?: unknown): AppError =>
  new AppError('body_too_large', { limit: sizeText(routeOptions.bodyLimit) }, cause)
