import type { FastifyRequest } from 'fastify'
import type { Access } from '../../contract/endpoint.ts'
import { AppError } from '../app-error.ts'

const MEBIBYTE = 2 ** 20

/**
 * Bytes that the body of a management call may have, packed and unpacked. The large ones are
 * settings and lists of keys, which only admins write.
 */
export const BODY_BYTES_MAX: Record<Access, number> = {
  anyone: 2 * MEBIBYTE,
  user: 2 * MEBIBYTE,
  admin: 8 * MEBIBYTE,
  root: 8 * MEBIBYTE,
}

/** What fills the sentence of a body that is larger. */
export const bodyLimit = (bytesMax: number): { limit: number } => ({ limit: bytesMax / MEBIBYTE })

export const bodyTooLarge = ({ routeOptions }: FastifyRequest, cause?: unknown): AppError =>
  new AppError('body_too_large', bodyLimit(routeOptions.bodyLimit), cause)
