import { z } from 'zod'

/** The limits of a command, by the names of limits.conf(5), with the unit of each. */
export const rlimitNames = {
  as: 'bytes of address space',
  core: 'bytes of a core dump',
  cpu: 'seconds of processor time',
  data: 'bytes of data',
  fsize: 'bytes of each file that the command writes',
  memlock: 'bytes of locked memory',
  nofile: 'open files',
  nproc: 'processes of the user',
  stack: 'bytes of stack',
} as const

/** The name of a limit. */
export type RlimitName = keyof typeof rlimitNames

const value = z.union(
  [z.number().int().min(0), z.literal('unlimited')],
  'must be a whole number, 0 or more, or "unlimited"',
)

const Rlimit = z.union(
  [
    value,
    z.strictObject({
      soft: value.describe('The limit that applies.'),
      hard: value
        .optional()
        .describe('The highest limit that the command can set for itself. Default: the soft limit.'),
    }),
  ],
  'must be a whole number, 0 or more, "unlimited", or {soft, hard} of those',
)

const shape = Object.fromEntries(
  Object.entries(rlimitNames).map(([name, counts]) => [
    name,
    Rlimit.optional().describe(`The limit of ${counts}. Default: the limit of the runtime.`),
  ]),
) as Record<RlimitName, z.ZodOptional<typeof Rlimit>>

/**
 * The resource limits of a command, as in setrlimit(2): one number for both, or a soft and a hard
 * one.
 */
export const Rlimits = z
  .strictObject(shape)
  .superRefine((limits, context) => {
    for (const [name, { soft, hard }] of Object.entries(pairsOf(limits))) {
      if (hard !== null && (soft === null || soft > hard))
        context.addIssue({ code: 'custom', path: [name], message: 'must not have a soft limit above the hard one' })
    }
  })
  .meta({ id: 'Rlimits' })
export type Rlimits = z.output<typeof Rlimits>

/** A soft and a hard limit; null is unlimited. */
export interface RlimitPair {
  readonly soft: number | null
  readonly hard: number | null
}

/** Returns limits as pairs. */
export function pairsOf(limits: Rlimits): Readonly<Record<string, RlimitPair>> {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]) => {
      if (limit === undefined) return []
      const { soft, hard = soft } = typeof limit === 'object' ? limit : { soft: limit }
      return [[name, { soft: finite(soft), hard: finite(hard) }]]
    }),
  )
}

function finite(limit: number | 'unlimited'): number | null {
  return limit === 'unlimited' ? null : limit
}
