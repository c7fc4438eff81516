import type { ErrorCode } from '@holt/protocol'
import { z } from 'zod'
import * as word from './answers/words.ts'

// Schemas of the guest's answers (guest/PROTOCOL.md). The guest is hostile: `words.ts` bounds every
// number and every text, this file every list.

const { count, momentMs } = word
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
    /** The longest time for which connections may still prevent a checkpoint. */
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
})
export type GuestProcess = z.infer<typeof GuestProcess>

/** `GET /v1/processes`. */
export const GuestProcesses = z.object({ processes: z.array(GuestProcess).max(20_000) })

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

/** The guest's facts about a file. */
export const GuestFile = z
  .object({
    path: word.path,
    name: z.string(),
    type: word.fileType,
    size_bytes: count,
    mode: word.mode,
    permissions: word.permissions,
    uid: word.ownerId,
    gid: word.ownerId,
    user: word.owner,
    group: word.owner,
    modified_at_ms: word.fileTimeMs,
    symlink_target: word.linkTarget.nullable(),
    path_base64: word.rawPath.optional(),
  })
  .refine(({ name, path }) => name === word.lastPartOf(path), { path: ['name'] })
  .refine(({ path, path_base64 }) => word.isTextOf(path, path_base64), { path: ['path_base64'] })
export type GuestFile = z.infer<typeof GuestFile>

/** The headers of a file's content. */
export const GuestContentHeaders = z.object({
  'content-length': z
    .string()
    .regex(/^\d{1,16}$/)
    .optional(),
  'content-range': z
    .string()
    .regex(/^bytes (?:\d{1,16}-\d{1,16}|\*)\/\d{1,16}$/)
    .optional(),
  etag: z
    .string()
    .regex(/^"[\x21\x23-\x7e]{1,128}"$/)
    .optional(),
  // Programs inside may set a time in any year.
  'last-modified': z
    .string()
    .regex(/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} -?\d{4,12} \d{2}:\d{2}:\d{2} GMT$/)
    .optional(),
  'x-holt-mode': word.mode.optional(),
})
export type GuestContentHeaders = z.infer<typeof GuestContentHeaders>

/** `GET /v1/files/list`. */
export const GuestFiles = z.object({ entries: z.array(GuestFile).max(10_000), more: z.boolean() })
export type GuestFiles = z.infer<typeof GuestFiles>

/** `POST /v1/processes/{id}/stdin`. */
export const GuestStdinWritten = z.object({ written_bytes: count, offset: count })
export type GuestStdinWritten = z.infer<typeof GuestStdinWritten>

/** A shell session as the guest knows it. */
const GuestSession = z.object({
  name: word.sessionName,
  shell: word.path,
  user: word.owner,
  cwd: word.directory,
  commands: count,
  current: word.processId.nullable(),
  started_at_ms: momentMs,
  used_at_ms: momentMs,
})
export type GuestSession = z.infer<typeof GuestSession>

/** `GET /v1/sessions`. */
export const GuestSessions = z.object({ sessions: z.array(GuestSession).max(64) })

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
] as const
export type GuestReason = (typeof guestReasons)[number]

/** `GET /v1/ports`. */
export const GuestPorts = z.object({ ports: z.array(word.port).max(65_535) })

/** `GET /v1/ports/{port}`. */
export const GuestPort = z.object({ port: word.port, listening: z.boolean() })

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
      .object({ reason: z.enum(guestReasons), offset: count })
      .partial()
      .optional(),
  }),
})
