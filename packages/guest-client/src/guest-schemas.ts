import { z } from 'zod'
import * as word from './answers/words.ts'

// Schemas of the guest's answers about itself (guest/PROTOCOL.md), made of the words in `words.ts`.

const { count } = word
const problems = z.array(word.sentence.max(8192)).max(32)

/** `GET /v1/info`. */
export const GuestInfo = z
  .object({
    version: word.version,
    protocol: z.literal(1),
    runtime_id: word.runtimeId.nullable(),
    /** Running processes. */
    processes: count,
    /** Running processes that were not started with `background`. */
    foreground: count.optional(),
  })
  // An adopted runtime may have a guest without `background`. All its processes may matter then.
  .transform((info) => ({
    ...info,
    foreground: info.foreground ?? info.processes,
    /**
     * True if `bind` supports `renew`, which came with `foreground`. Without it no copy of its
     * memory can be used.
     */
    knowsRenew: info.foreground !== undefined,
  }))
export type GuestInfo = z.infer<typeof GuestInfo>

/** `GET /v1/usage`. */
export const GuestUsage = z.object({ processes: count })
export type GuestUsage = z.infer<typeof GuestUsage>

/** `POST /v1/bind`. */
export const GuestBound = z.object({
  runtime_id: word.runtimeId,
  limits: z.object({ pids: z.boolean() }).partial().optional(),
  clock: z.boolean().optional(),
  hostname: z.boolean().optional(),
  network: z.boolean().optional(),
  /** False if it may share random numbers, names or keys with its source. */
  distinct: z.boolean().optional(),
  problems: problems.optional(),
})
export type GuestBound = z.infer<typeof GuestBound>

/** `POST /v1/seed`. */
export const GuestSeeded = z.object({
  limits: z.object({ pids: z.boolean() }),
  network: z.boolean(),
  problems,
})
export type GuestSeeded = z.infer<typeof GuestSeeded>

/** `PUT /v1/network`. */
export const GuestNetworkSet = z.object({ network: z.boolean(), problems })
export type GuestNetworkSet = z.infer<typeof GuestNetworkSet>

/**
 * `POST /v1/memory/relief`: the processes that were killed. `in_files` is true if files in memory
 * hold most of what is used. Guests of earlier versions do not say so.
 */
export const GuestRelief = z.object({
  in_files: z.boolean().default(false),
  ended: z
    .array(
      z.object({
        pid: word.pid,
        name: z.string().max(64),
        resident_bytes: count,
        command_id: word.processId.nullable(),
      }),
    )
    .max(20_000),
})
export type GuestRelief = z.infer<typeof GuestRelief>
