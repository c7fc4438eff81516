import type { ErrorCode } from '@holt/protocol'
import { z } from 'zod'
import * as word from './words.ts'

/** Stable words for the guest's reasons to refuse a request. */
const guestReasons = [
  'program_not_found',
  'program_not_executable',
  'stdin_closed',
  'stdin_gap',
  'session_busy',
  'session_ended',
  'session_limit',
  'session_user',
  'no_such_account',
  'no_such_directory',
  'attributes_unsupported',
] as const
export type GuestReason = (typeof guestReasons)[number]

/** Codes of error answers. `internal` and `route_not_found` are faults of the guest itself. */
export const guestCodes = [
  'invalid_request',
  'invalid_path',
  'invalid_archive',
  'is_directory',
  'not_a_directory',
  'not_a_file',
  'symlink_loop',
  'path_permission_denied',
  'path_not_found',
  'command_not_found',
  'session_not_found',
  'already_exists',
  'directory_not_empty',
  'conflict',
  'precondition_failed',
  'too_large',
  'range_not_satisfiable',
  'port_not_listening',
  'digest_mismatch',
  'disk_full',
  'internal',
  'route_not_found',
] as const satisfies readonly ErrorCode[]

/** A failure. */
export const GuestFailure = z.object({
  error: z.object({
    code: z.enum(guestCodes),
    message: word.sentence,
    details: z
      .object({ reason: z.enum(guestReasons), offset: word.count, path: word.path })
      .partial()
      .optional(),
  }),
})
