import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'

/** The parameters of routes below a runtime. */
export const runtimeParams = z.strictObject({ runtime_id: z.string().describe('The id of the runtime.') })

/** The prefix of the routes below a runtime. */
export const runtimePath = '/v1/agents/runtime/{runtime_id}'

/** The errors that every route to a runtime's guest may return. */
export const insideErrors = [
  'runtime_not_found',
  'runtime_not_running',
  'runtime_paused',
  'snapshot_incompatible',
  'snapshot_damaged',
  'capacity_exhausted',
  'runtime_terminated',
  'not_supported_here',
  'disk_full',
  'unavailable',
  'timeout',
] as const satisfies readonly ErrorCode[]

/** A request without a body. */
export const none = { type: 'none' } as const

/** A request with JSON of a schema. */
export const json = <Schema extends z.ZodType>(schema: Schema) => ({ type: 'json', schema }) as const

/** A success with JSON of a schema. */
export const answer = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  ({ type: 'json', schema, description }) as const
