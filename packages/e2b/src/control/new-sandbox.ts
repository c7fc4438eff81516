import { Env, Metadata } from '@holt/protocol'
import { z } from 'zod'
import { optional } from '../json/optional.ts'
import { NetworkConfig } from './network-config.ts'

/** The longest life of a sandbox in seconds, as Holt has it for every runtime. */
const maxTimeoutSecs = 30 * 24 * 3600

const timeoutMessage = `must be at most ${maxTimeoutSecs / 3600} hours`

/** The life of a sandbox in seconds. */
const Timeout = z.number().int().min(0).max(maxTimeoutSecs, timeoutMessage)

/** The body of a create. Unknown fields are ignored: newer clients add some. */
export const NewSandbox = z.object({
  templateID: z.string().min(1).max(200),
  timeout: optional(Timeout),
  metadata: optional(Metadata),
  envVars: optional(Env),
  autoPause: optional(z.boolean()),
  autoPauseMemory: optional(z.boolean()),
  autoResume: optional(z.object({ enabled: optional(z.boolean()) })),
  allow_internet_access: optional(z.boolean()),
  network: optional(NetworkConfig),
  iam: optional(z.object({ tokens: optional(z.record(z.string(), z.unknown())) })),
  volumeMounts: optional(z.array(z.unknown())),
})
export type NewSandbox = z.output<typeof NewSandbox>

/** The body of a connect and of a resume. */
export const ConnectSandbox = z.object({
  timeout: optional(Timeout),
  memory: optional(z.boolean()),
  autoPause: optional(z.boolean()),
})
export type ConnectSandbox = z.output<typeof ConnectSandbox>

/** The body of a pause. */
export const PauseSandbox = z.object({ memory: optional(z.boolean()), requireHealthyGuest: optional(z.boolean()) })

/** The body of a new deadline. */
export const SetTimeout = z.object({ timeout: Timeout })

/** The body of a longer deadline. */
export const Refresh = z.object({ duration: optional(z.number().int().min(0).max(3600)) })

/** The body of a fork. */
export const ForkSandbox = z.object({ timeout: optional(Timeout), count: optional(z.number().int().min(1).max(100)) })

/** The body of a snapshot. */
export const NewSnapshot = z.object({ name: optional(z.string().min(1).max(200)), memory: optional(z.boolean()) })
