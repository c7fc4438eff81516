import { z } from 'zod'
import * as word from '../answers/words.ts'

// Schemas of the guest's answers about processes (guest/PROTOCOL.md).

const { count, momentMs } = word
const side = z.number().int().min(1).max(10_000)

/** The size of a terminal. */
const GuestTerminal = z.object({ cols: side, rows: side })
export type GuestTerminal = z.infer<typeof GuestTerminal>

/** A process as the guest knows it. */
export const GuestProcess = z.object({
  id: word.processId,
  pid: word.pid,
  command: word.argument.nullable(),
  argv: z.array(word.argument).max(2048).nullable(),
  cwd: word.directory,
  user: word.owner,
  state: z.enum(['running', 'exited']),
  exit_code: word.exitCode.nullable(),
  signal: word.signal.nullable(),
  timed_out: z.boolean(),
  started_at_ms: momentMs,
  ended_at_ms: momentMs.nullable(),
  cursor: count,
  stdout_bytes: count,
  stderr_bytes: count,
  dropped_bytes: count,
  stdout_dropped_bytes: count.default(0),
  stderr_dropped_bytes: count.default(0),
  descendants: z.boolean(),
  session: word.sessionName.nullable().default(null),
  session_kept: z.boolean().nullable().default(null),
  oom_killed: z.boolean().default(false), // The guest of an adopted runtime may omit it.
  pty: GuestTerminal.nullable().default(null), // The guest of an adopted runtime may omit it.
  label: word.label.optional(), // A process without a label has none.
})
export type GuestProcess = z.infer<typeof GuestProcess>

/** `GET /v1/processes`. */
export const GuestProcesses = z.object({ processes: z.array(GuestProcess).max(20_000) })

/** A line of a process's stream. */
export const GuestItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), cursor: count, pid: word.pid }),
  z.object({
    type: z.enum(['stdout', 'stderr']),
    cursor: count,
    data: z.base64(),
    at_ms: momentMs.optional(), // The guest of an adopted runtime may omit it.
  }),
  z.object({ type: z.literal('dropped'), cursor: count, dropped_bytes: count }),
  z.object({
    type: z.literal('exit'),
    cursor: count,
    exit_code: word.exitCode.nullable(),
    signal: word.signal.nullable(),
    timed_out: z.boolean(),
    // The guest of an adopted runtime may omit these two.
    started_at_ms: momentMs.optional(),
    ended_at_ms: momentMs.optional(),
    session_kept: z.boolean().optional(),
    oom_killed: z.boolean().optional(),
  }),
  z.object({ type: z.literal('end'), cursor: count }),
])
export type GuestItem = z.infer<typeof GuestItem>

/**
 * `POST /v1/processes/{id}/stdin`. `remembered` is false if nothing was written and a repetition of
 * the operation tries again. Guests of earlier versions omit it, and repeat their answer.
 */
export const GuestStdinWritten = z.object({
  written_bytes: count,
  offset: count,
  remembered: z.literal(false).optional(),
})
export type GuestStdinWritten = z.infer<typeof GuestStdinWritten>
