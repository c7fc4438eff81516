import type { BuildFailureCode } from '@holt/protocol'
import { BuildError, BuilderError } from '../errors.ts'
import { TransferError, type TransferFailure } from './transfer-error.ts'

const codes: Partial<Readonly<Record<TransferFailure, BuildFailureCode>>> = {
  not_found: 'image_not_found',
  too_large: 'image_unsupported',
}

const hints: Partial<Readonly<Record<TransferFailure, string>>> = {
  not_found: 'Check the name, the tag and the registry.',
  busy: 'Try again later. Many registries allow more downloads with registry_auth. The operator of this service can set a mirror (HOLT_REGISTRY_MIRRORS).',
  unreachable: 'Try again later. The operator of this service can set a mirror (HOLT_REGISTRY_MIRRORS).',
  not_allowed:
    'Images are fetched only from public addresses, over TLS. The operator of this service can allow others: HOLT_REGISTRY_INSECURE, HOLT_EGRESS_ALLOWED_NETWORKS.',
  no_such_host:
    'Check the name of the registry. If this service cannot look up names, its operator can set a mirror (HOLT_REGISTRY_MIRRORS), and `FROM holt/base-small` needs no registry.',
  damaged:
    'The data of the registry or its mirror does not match its digest. Push the image again, or use another digest.',
}

/**
 * Returns the error that a build shows for a failure to get an image. An error that only concerns
 * the host is returned unchanged.
 */
export function explain(error: unknown, reference: string, hasLogin: boolean): unknown {
  if (error instanceof TransferError) {
    const code = codes[error.reason] ?? 'image_pull_failed'
    const { message, hint } =
      error.reason === 'denied'
        ? denied(reference, hasLogin)
        : { message: `${reference} could not be fetched: ${error.message}`, hint: hints[error.reason] }
    return new BuildError(code, message, { ...(hint === undefined ? {} : { hint }), cause: error })
  }
  if (!(error instanceof BuilderError)) return error
  if (error.code === 'reference_invalid')
    return new BuildError('image_not_found', error.message, {
      hint: 'Write it as [REGISTRY/]NAME[:TAG].',
      cause: error,
    })
  if (error.code === 'image_invalid' || error.code === 'image_too_large' || error.code === 'platform_missing')
    return new BuildError('image_unsupported', `${reference}: ${error.message}`, { cause: error })
  return error
}

/**
 * Returns the message for a refusal. Registries answer the same for a private image and for one
 * that does not exist.
 */
function denied(reference: string, hasLogin: boolean): { message: string; hint: string } {
  return hasLogin
    ? {
        message: `The registry does not give ${reference} to these credentials.`,
        hint: 'Check registry_auth: the user name, the password or token, its rights, and its registry.',
      }
    : {
        message: `The registry does not give ${reference} without credentials: it is private, or does not exist.`,
        hint: 'Check the name. For a private image, set registry_auth.',
      }
}
