import { Env, Metadata } from '@holt/protocol'
import { z } from 'zod'
import { NetworkConfig } from './network-config.ts'

/** The longest life of a sandbox in seconds, as Holt has it for every runtime. */
const maxTimeoutSecs = 30 * 24 * 3600

const timeoutMessage = `must be at most ${maxTimeoutSecs / 3600} hours`

/** The life of a sandbox in seconds. */
const Timeout = z.number().int().min(0).max(maxTimeoutSecs, timeoutMessage)

/** Absent, or null: some clients send null for what they leave out. */
const opt = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined)

/** The body of a create. Unknown fields are ignored: newer clients add some. */
export const NewSandbox = z.object({
  templateID: z.string().min(1).max(200),
  timeout: opt(Timeout),
  metadata: opt(Metadata),
  envVars: opt(Env),
  autoPause: opt(z.boolean()),
  autoPauseMemory: opt(z.boolean()),
  autoResume: opt(z.object({ enabled: opt(z.boolean()) })),
  allow_internet_access: opt(z.boolean()),
  network: opt(NetworkConfig),
  iam: opt(z.object({ tokens: opt(z.array(z.unknown())) })),
  volumeMounts: opt(z.array(z.unknown())),
})
export type NewSandbox = z.output<typeof NewSandbox>

/** The body of a connect and of a resume. */
export const ConnectSandbox = z.object({
  timeout: opt(Timeout),
  memory: opt(z.boolean()),
  autoPause: opt(z.boolean()),
})
export type ConnectSandbox = z.output<typeof ConnectSandbox>

/** The body of a pause. */
export const PauseSandbox = z.object({ memory: opt(z.boolean()), requireHealthyGuest: opt(z.boolean()) })

/** The body of a new deadline. */
export const SetTimeout = z.object({ timeout: Timeout })

/** The body of a longer deadline. */
export const Refresh = z.object({ duration: opt(z.number().int().min(0).max(3600)) })

/** The body of a fork. */
export const ForkSandbox = z.object({ timeout: opt(Timeout), count: opt(z.number().int().min(1).max(100)) })

/** The body of a snapshot. */
export const NewSnapshot = z.object({ name: opt(z.string().min(1).max(200)), memory: opt(z.boolean()) })
