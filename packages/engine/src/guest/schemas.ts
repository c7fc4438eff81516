import { z } from 'zod'

// What the guest answers, as guest/PROTOCOL.md says. The guest is hostile: every number, string and list is bounded here.

const text = z.string().max(8192)
const path = z.string().max(16_384)
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const momentMs = z.number().int().min(0).max(8.64e15)
const name = z.string().max(64)

/** `GET /v1/info`. */
export const GuestInfo = z
  .object({
    version: name,
    protocol: z.literal(1),
    runtime_id: name.nullable(),
    /** Of which anything still runs. */
    processes: count,
    /** Those of them that were not started with `background`. */
    foreground: count.optional(),
    /** For so long connections may still linger that keep a checkpoint from being taken. */
    lingering_ms: z.number().int().min(0).max(120_000).default(0),
  })
  // A runtime that is adopted may have a guest that knows of no background: all its processes may matter.
  .transform((info) => ({
    ...info,
    foreground: info.foreground ?? info.processes,
    /** Whether its `bind` knows `renew`, which came with `foreground`: without it nothing can be made of its memory. */
    knowsRenew: info.foreground !== undefined,
  }))
export type GuestInfo = z.infer<typeof GuestInfo>

/** `GET /v1/usage`. */
export const GuestUsage = z.object({ processes: count })
export type GuestUsage = z.infer<typeof GuestUsage>

/** `POST /v1/bind`. */
export const GuestBound = z.object({
  runtime_id: name,
  limits: z.object({ pids: z.boolean() }).partial().optional(),
  clock: z.boolean().optional(),
  hostname: z.boolean().optional(),
  sudo: z.boolean().optional(),
  network: z.boolean().optional(),
  /** False: it may share random numbers, names or keys with what it was made of. */
  distinct: z.boolean().optional(),
  problems: z.array(text).max(32).optional(),
})
export type GuestBound = z.infer<typeof GuestBound>

/** `POST /v1/seed`. */
export const GuestSeeded = z.object({
  limits: z.object({ pids: z.boolean() }),
  sudo: z.boolean(),
  network: z.boolean(),
  problems: z.array(text).max(32),
})
export type GuestSeeded = z.infer<typeof GuestSeeded>

/** `PUT /v1/network`. */
export const GuestNetworkSet = z.object({ network: z.boolean(), problems: z.array(text).max(32) })
export type GuestNetworkSet = z.infer<typeof GuestNetworkSet>
const side = z.number().int().min(1).max(10_000)

/** How large a terminal is. */
const GuestTerminal = z.object({ cols: side, rows: side })
export type GuestTerminal = z.infer<typeof GuestTerminal>

/** A process as the guest knows it. */
export const GuestProcess = z.object({
  id: name,
  pid: count,
  command: z
    .string()
    .max(256 * 1024)
    .nullable(),
  argv: z
    .array(z.string().max(256 * 1024))
    .max(2048)
    .nullable(),
  cwd: path,
  user: text,
  state: z.enum(['running', 'exited']),
  exit_code: z.number().int().min(0).max(255).nullable(),
  signal: name.nullable(),
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
  session: name.nullable().default(null),
  session_kept: z.boolean().nullable().default(null),
  pty: GuestTerminal.nullable().default(null), // A runtime that is adopted may have a guest that knows of none.
})
export type GuestProcess = z.infer<typeof GuestProcess>

/** `GET /v1/processes`. */
export const GuestProcesses = z.object({ processes: z.array(GuestProcess).max(20_000) })

/** A line of a process's stream. */
export const GuestItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), cursor: count, pid: count }),
  z.object({ type: z.enum(['stdout', 'stderr']), cursor: count, data: z.base64() }),
  z.object({ type: z.literal('dropped'), cursor: count, dropped_bytes: count }),
  z.object({
    type: z.literal('exit'),
    cursor: count,
    exit_code: z.number().int().min(0).max(255).nullable(),
    signal: name.nullable(),
    timed_out: z.boolean(),
    session_kept: z.boolean().optional(),
  }),
  z.object({ type: z.literal('end'), cursor: count }),
])
export type GuestItem = z.infer<typeof GuestItem>

/** What the guest says of a file. */
export const GuestFile = z.object({
  path,
  name: z.string().max(1024),
  type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
  size_bytes: count,
  mode: z.string().regex(/^[0-7]{4}$/),
  permissions: z.string().max(16),
  uid: count,
  gid: count,
  user: z.string().max(256),
  group: z.string().max(256),
  modified_at_ms: z.number().int().min(-8.64e15).max(8.64e15),
  symlink_target: path.nullable(),
  path_base64: z.string().max(16_384).optional(),
})
export type GuestFile = z.infer<typeof GuestFile>

/** `GET /v1/files/list`. */
export const GuestFiles = z.object({ entries: z.array(GuestFile).max(10_000), more: z.boolean() })
export type GuestFiles = z.infer<typeof GuestFiles>

/** `POST /v1/processes/{id}/stdin`. */
export const GuestStdinWritten = z.object({ written_bytes: count, offset: count })
export type GuestStdinWritten = z.infer<typeof GuestStdinWritten>

/** A shell session as the guest knows it. */
const GuestSession = z.object({
  name,
  shell: text,
  user: text,
  cwd: path,
  commands: count,
  current: name.nullable(),
  started_at_ms: momentMs,
  used_at_ms: momentMs,
})
export type GuestSession = z.infer<typeof GuestSession>

/** `GET /v1/sessions`. */
export const GuestSessions = z.object({ sessions: z.array(GuestSession).max(64) })

/** Why the guest refuses something, in words that stay. */
const guestReasons = [
  'program_not_found',
  'program_not_executable',
  'stdin_closed',
  'stdin_gap',
  'session_busy',
  'session_ended',
  'session_limit',
  'session_user',
] as const
export type GuestReason = (typeof guestReasons)[number]

const port = z.number().int().min(1).max(65_535)

/** `GET /v1/ports`. */
export const GuestPorts = z.object({ ports: z.array(port).max(65_535) })

/** `GET /v1/ports/{port}`. */
export const GuestPort = z.object({ port, listening: z.boolean() })

/** A failure. */
export const GuestFailure = z.object({
  error: z.object({
    code: name,
    message: z.string().max(16_384),
    details: z
      .object({ reason: z.enum(guestReasons), offset: count })
      .partial()
      .optional()
      .catch(undefined),
  }),
})
