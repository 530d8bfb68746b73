import type { FastifyRequest } from 'fastify'
import type { BodyClass } from '../../contract/endpoint.ts'
import { AppError } from '../app-error.ts'

const KIBIBYTE = 2 ** 10
const MEBIBYTE = 2 ** 20

export interface BodyLimit {
  /** Bytes, compressed and decompressed. */
  bytesMax: number
  /** Members of objects and elements of lists, in the whole body. */
  valuesMax: number
}

/**
 * Limits of a management call's body. They bound the time that parsing takes on the event loop: a
 * public body costs below 1 ms, a bulk one below 100 ms.
 */
export const BODY_LIMITS: Record<BodyClass, BodyLimit> = {
  public: { bytesMax: 64 * KIBIBYTE, valuesMax: 1000 },
  ordinary: { bytesMax: 256 * KIBIBYTE, valuesMax: 10_000 },
  bulk: { bytesMax: 8 * MEBIBYTE, valuesMax: 200_000 },
}

/** Nested objects and lists that a management call's body may have. */
export const BODY_DEPTH_MAX = 32

/** A number of bytes as error texts have it: `64 KB`, `8 MB`. */
export const sizeText = (bytes: number): string =>
  bytes < MEBIBYTE ? `${bytes / KIBIBYTE} KB` : `${Math.round(bytes / MEBIBYTE)} MB`

export const bodyTooLarge = ({ routeOptions }: FastifyRequest, cause?: unknown): AppError =>
  new AppError('body_too_large', { limit: sizeText(routeOptions.bodyLimit) }, cause)
