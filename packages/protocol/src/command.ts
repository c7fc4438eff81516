import { z } from 'zod'
import { idSchema } from './ids.ts'
import { ifSound } from './if-sound.ts'
import { Timestamp } from './page.ts'
import { Rlimits } from './rlimits.ts'
import { Env } from './runtime.ts'
import { RuntimePath } from './runtime-path.ts'
import { SessionName } from './session.ts'
import { byteLength, maxArgumentBytes, Text, tooLongText } from './text.ts'

/** The default number of bytes of stdout, and of stderr, in a waited-for result. */
export const resultOutputBytes = 1024 * 1024

const maxResultOutputBytes = 4 * 1024 * 1024

const argument = Text.superRefine((text, context) => {
  const bytes = byteLength(text)
  if (bytes > maxArgumentBytes) context.addIssue({ code: 'custom', message: tooLongText(bytes) })
})

const side = z.number().int().min(1).max(10_000)

/** The size of a terminal, in characters. */
export const TerminalSize = z
  .strictObject({ cols: side.describe('The width in characters.'), rows: side.describe('The height in characters.') })
  .meta({ id: 'TerminalSize', examples: [{ cols: 80, rows: 24 }] })
export type TerminalSize = z.infer<typeof TerminalSize>

/** The body of a command. */
export const StartCommand = z
  .strictObject({
    command: argument
      .refine((text) => text !== '', 'must not be empty')
      .optional()
      .describe('Run by `/bin/sh -c`, at most 131,071 bytes. Exactly one of `command` and `argv`.'),
    argv: z
      .array(argument)
      .min(1)
      .max(1024)
      .optional()
      .describe('Run as it is, looked up in PATH. Each argument has at most 131,071 bytes.'),
    cwd: RuntimePath.optional().describe("Default: the template's working directory."),
    env: Env.default({}).describe("Laid over the runtime's environment."),
    user: z
      .string()
      .regex(/^(?:[A-Za-z_][A-Za-z0-9_-]{0,31}|\d{1,10}(?::\d{1,10})?)$/, 'must be a user name, a uid or uid:gid')
      .optional()
      .describe("Default: the template's user."),
    stdin: z
      .union([z.string().max(1024 * 1024), z.boolean()])
      .default(false)
      .describe(
        'Text: written to the command, then closed. `true`: kept open for the stdin route. `false`: /dev/null.',
      ),
    timeout_secs: z
      .number()
      .min(0)
      .max(7 * 24 * 3600)
      .default(60)
      .describe('0: none. At the end every process of the command is killed.'),
    background: z
      .boolean()
      .default(false)
      .describe('Answer at once; read the output later. Its timeout is 0 unless given.'),
    rlimits: Rlimits.default({}).describe('Resource limits that the command begins with.'),
    session: SessionName.optional().describe(
      'Run in the shell session of this name: after its other commands, with the directory and variables they left. `argv` may be a builtin of the shell. Made where there is none.',
    ),
    max_output_bytes: z
      .number()
      .int()
      .min(0)
      .max(maxResultOutputBytes)
      .default(resultOutputBytes)
      .describe(
        'The most bytes of each stream that a waited-for result carries: the first ones. Past 16 KiB it has fewer, and `truncated` says so, while the bodies and results of the project that are under way take 64 MiB together, or those of all projects 256 MiB; the output route has the rest.',
      ),
    pty: TerminalSize.optional().describe(
      'Run it in a terminal of this size: a session of its own, `TERM=xterm-256color` unless `env` or the runtime says otherwise, all output on `stdout`. Its stdin stays open, and `eof` types the end-of-file character. In the background it waits up to 10 s for somebody to attach and write before it loses output.',
    ),
  })
  .superRefine(
    (body, context) => {
      if ((body.command === undefined) === (body.argv === undefined)) {
        context.addIssue({ code: 'custom', path: ['command'], message: 'give exactly one of command and argv' })
      }
      if (body.session !== undefined && body.pty !== undefined) {
        context.addIssue({ code: 'custom', path: ['pty'], message: 'a command of a session has no terminal' })
      }
    },
    ifSound('command', 'argv', 'session', 'pty'),
  )
  .meta({ id: 'StartCommand', examples: [{ command: 'id' }] })
export type StartCommandInput = z.input<typeof StartCommand>
export type StartCommand = z.output<typeof StartCommand>

/** The states of a command. */
export const commandStates = ['running', 'exited'] as const

/** A command, running or ended. `exit_code` is null while it runs and if it is unknown. */
export const Command = z
  .object({
    command_id: idSchema('command').describe('The id of the command.'),
    pid: z.number().int().describe('The process id inside the runtime.'),
    state: z.enum(commandStates).describe('`running`, or `exited` however it ended.'),
    command: z.string().nullable().describe('The command line that was given; null where `argv` was.'),
    argv: z.array(z.string()).nullable().describe('The program and its arguments; null where `command` was given.'),
    cwd: z.string().describe('The directory that it was started in.'),
    user: z.string().describe('The user that it runs as.'),
    exit_code: z
      .number()
      .int()
      .nullable()
      .describe('128 + n for a signal n; null while it runs, or where it is not known.'),
    signal: z.string().nullable().describe('The signal that ended it, such as `SIGKILL`; else null.'),
    timed_out: z.boolean().describe('True if it was killed at its `timeout_secs`.'),
    oom_killed: z.boolean().describe('True if one of its processes was killed because the runtime was out of memory.'),
    started_at: Timestamp.describe('When it was started (RFC 3339 UTC with milliseconds).'),
    ended_at: Timestamp.nullable().describe('When it ended (RFC 3339 UTC with milliseconds); null while it runs.'),
    duration_ms: z.number().int().nullable().describe('Milliseconds from its start to its end; null while it runs.'),
    stdout_bytes: z.number().int().describe('Bytes that it has written to stdout so far.'),
    stderr_bytes: z.number().int().describe('Bytes that it has written to stderr so far.'),
    dropped_bytes: z.number().int().describe('Bytes that are no longer kept.'),
    dropped: z
      .object({
        stdout: z.number().int().describe('Bytes of stdout that are no longer kept.'),
        stderr: z.number().int().describe('Bytes of stderr that are no longer kept.'),
      })
      .describe('The same, each stream by itself.'),
    session: z.string().nullable().describe('The name of its shell session; null outside of one.'),
    session_kept: z
      .boolean()
      .nullable()
      .describe(
        'Whether the session has what the command left. False where it was killed, timed out or replaced its shell: then the session is as it was before. Null outside of a session, and while it runs.',
      ),
    pty: TerminalSize.nullable().describe('The size of its terminal; null where it has none.'),
  })
  .meta({ id: 'Command' })
export type Command = z.infer<typeof Command>

/**
 * A command with its output, the answer to a waited-for command. Output is decoded as UTF-8, with
 * U+FFFD for invalid bytes.
 */
export const CommandResult = Command.extend({
  stdout: z.string().describe('The first bytes of stdout, decoded as UTF-8. See `truncated`.'),
  stderr: z.string().describe('The first bytes of stderr, decoded as UTF-8. See `truncated`.'),
  truncated: z
    .object({
      stdout: z.boolean().describe('True if bytes of stdout are missing here.'),
      stderr: z.boolean().describe('True if bytes of stderr are missing here.'),
    })
    .describe('True where bytes are missing; the output route has what is kept.'),
}).meta({ id: 'CommandResult' })
export type CommandResult = z.infer<typeof CommandResult>

const cursor = z.number().int().describe('Resume after this item with ?cursor=.')

/** An item of a command's stream. Bytes that are not UTF-8 are sent with `encoding: "base64"`. */
export const OutputItem = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('start').describe('The first item: the command was started.'),
      cursor,
      command_id: idSchema('command').describe('The id of the command.'),
      pid: z.number().int().describe('The process id inside the runtime.'),
    }),
    z.object({
      type: z.enum(['stdout', 'stderr']).describe('Output on this stream. A terminal has only `stdout`.'),
      cursor,
      data: z.string().describe('The output, as text or as base64.'),
      encoding: z
        .enum(['utf-8', 'base64'])
        .describe('How `data` is to be read: `base64` where the bytes are not UTF-8.'),
      at: Timestamp.optional().describe(
        'When it was read from the command, to a few milliseconds, and less exactly for the older output of a command that writes for hours. Absent in a runtime that an older Holt has made.',
      ),
    }),
    z.object({
      type: z.literal('dropped').describe('Output was lost before the cursor.'),
      cursor,
      dropped_bytes: z.number().int().describe('The number of lost bytes.'),
    }),
    z.object({
      type: z.literal('exit').describe('The command has ended.'),
      cursor,
      exit_code: z.number().int().nullable().describe('The exit status; 128 + n for a signal n. Null: not known.'),
      signal: z.string().nullable().describe('The signal that ended the command, such as `SIGKILL`; else null.'),
      timed_out: z.boolean().describe('True if the command was killed at its time limit.'),
      session_kept: z.boolean().optional().describe('In a session: whether it has what the command left.'),
      oom_killed: z
        .boolean()
        .optional()
        .describe('True if one of its processes was killed because the runtime was out of memory; else absent.'),
    }),
    z.object({ type: z.literal('end').describe('The last item: nothing follows.'), cursor }),
  ])
  .meta({ id: 'OutputItem' })
export type OutputItem = z.infer<typeof OutputItem>

/** The query of a command's output. */
export const OutputQuery = z.strictObject({
  cursor: z.coerce.number().int().min(0).default(0).describe('Give what follows this cursor.'),
  follow: z.enum(['true', 'false', '1', '0']).default('false').describe('Stay until the command has ended.'),
})

/** The body of a write to stdin. */
export const WriteStdin = z
  .strictObject({
    data: z
      .string()
      .max(1024 * 1024)
      .default('')
      .describe('The bytes to write, at most 1 MiB of text. Default: none.'),
    encoding: z.enum(['utf-8', 'base64']).default('utf-8').describe('How `data` is to be read. Default `utf-8`.'),
    eof: z.boolean().default(false).describe('Close stdin after the data.'),
    offset: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe(
        'Where the data begins, in bytes since the start. What stdin took before is skipped, so that a repetition types nothing twice. Default: after what was taken.',
      ),
  })
  .superRefine(
    (body, context) => {
      if (body.encoding === 'base64' && (body.data.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(body.data))) {
        context.addIssue({ code: 'custom', path: ['data'], message: 'must be base64' })
      }
    },
    ifSound('data', 'encoding'),
  )
  .meta({ id: 'WriteStdin', examples: [{ data: 'yes\n' }] })
export type WriteStdinInput = z.input<typeof WriteStdin>

/** The answer of a write to stdin. */
export const StdinWritten = z
  .object({
    written_bytes: z
      .number()
      .int()
      .describe('What this request added: less than was sent where the command does not read; send the rest again.'),
    offset: z.number().int().describe('Where the next write begins.'),
  })
  .meta({ id: 'StdinWritten' })

/** The signals that a client may send, in the order of their numbers (signal(7)). */
export const signalNames = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGKILL',
  'SIGUSR1',
  'SIGSEGV',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGCHLD',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGXCPU',
  'SIGXFSZ',
  'SIGVTALRM',
  'SIGPROF',
  'SIGWINCH',
  'SIGIO',
  'SIGPWR',
  'SIGSYS',
] as const

type RealTimeSignal = 'SIGRTMIN' | `SIGRTMIN+${number}`

const realTimePattern = /^SIGRTMIN(?:\+(?:[1-9]|[12]\d|30))?$/

const realTimeSignal = z.string().regex(realTimePattern) as unknown as z.ZodType<RealTimeSignal, RealTimeSignal>

/** A signal by name. The real-time signals are `SIGRTMIN` and `SIGRTMIN+1` to `SIGRTMIN+30`. */
export const SignalName = z.union(
  [z.enum(signalNames), realTimeSignal],
  'must be the name of a signal: SIGTERM, say, or SIGRTMIN+1',
)
export type SignalName = z.output<typeof SignalName>

/** Returns true if a text is a signal name that `SignalName` accepts. */
export function isSignalName(text: string): text is SignalName {
  return (signalNames as readonly string[]).includes(text) || realTimePattern.test(text)
}

/** The body of a signal. */
export const SendSignal = z
  .strictObject({ signal: SignalName.describe('The signal by name, such as `SIGTERM`.') })
  .meta({ id: 'SendSignal' })
export type SendSignalInput = z.input<typeof SendSignal>
