import { z } from 'zod'
import { bytes, enumOf, message, oneOf, text, textMap, uint32 } from '../../proto/fields.ts'

// The messages of the service `process.Process`.

const Selector = oneOf({ pid: uint32.removeDefault().optional(), tag: z.string().optional() })

const Terminal = message({ size: message({ cols: uint32, rows: uint32 }).optional() })

const Input = oneOf({ stdin: bytes.optional(), pty: bytes.optional() })

const Signals = { SIGNAL_UNSPECIFIED: 0, SIGNAL_SIGTERM: 15, SIGNAL_SIGKILL: 9 } as const

export const StartRequest = message({
  process: message({ cmd: text, args: z.array(z.string()).default([]), envs: textMap, cwd: z.string().optional() }),
  pty: Terminal.optional(),
  tag: z.string().optional(),
  // Clients older than the field read and write the input of every process.
  stdin: z.boolean().default(true),
})

export const ProcessRequest = message({ process: Selector })

export const SendInputRequest = message({ process: Selector, input: Input })

export const SendSignalRequest = message({ process: Selector, signal: enumOf(Signals).default('SIGNAL_UNSPECIFIED') })

export const UpdateRequest = message({ process: Selector, pty: Terminal.optional() })

export const StreamInputRequest = oneOf({
  start: message({ process: Selector }).optional(),
  data: message({ input: Input }).optional(),
  keepalive: message({}).optional(),
})

export const ListRequest = message({})

export type StartRequest = z.output<typeof StartRequest>
export type Selector = z.output<typeof Selector>
export type Input = z.output<typeof Input>
