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
      .describe(
        'A command line that `/bin/sh -c` runs, at most 131,071 bytes. Give exactly one of `command` and `argv`.',
      ),
    argv: z
      .array(argument)
      .min(1)
      .max(1024)
      .optional()
      .describe(
        'A program and its arguments, without a shell. The program is looked up in PATH. Each argument has at most 131,071 bytes.',
      ),
    cwd: RuntimePath.optional().describe('The working directory. Default: the working directory of the template.'),
    env: Env.default({}).describe(
      'Environment variables of the command, in addition to those of the runtime. Default: none.',
    ),
    user: z
      .string()
      .regex(/^(?:[A-Za-z_][A-Za-z0-9_-]{0,31}|\d{1,10}(?::\d{1,10})?)$/, 'must be a user name, a uid or uid:gid')
      .optional()
      .describe('The user that the command runs as. Default: the user of the template.'),
    stdin: z
      .union([z.string().max(1024 * 1024), z.boolean()])
      .default(false)
      .describe(
        'The standard input. Text: the command reads it, then stdin is closed. `true`: stdin stays open for the stdin route. `false` (default): /dev/null.',
      ),
    timeout_secs: z
      .number()
      .min(0)
      .max(7 * 24 * 3600)
      .default(60)
      .describe(
        'The time limit in seconds. At the limit, every process of the command is killed. 0: no limit. Default 60.',
      ),
    background: z
      .boolean()
      .default(false)
      .describe(
        'True: answer at once and read the output later. The default of `timeout_secs` is then 0. Default false.',
      ),
    rlimits: Rlimits.default({}).describe('The resource limits of the command. Default: none.'),
    session: SessionName.optional().describe(
      'The shell session to run in. The command runs after the earlier commands of the session, in their directory and with their variables. A missing session is created. Default: no session.',
    ),
    max_output_bytes: z
      .number()
      .int()
      .min(0)
      .max(maxResultOutputBytes)
      .default(resultOutputBytes)
      .describe(
        'The most bytes of each stream in a waited-for result: the first ones. `truncated` says if bytes are missing; the output route has the rest. Results above 16 KiB can be shorter while bodies and results in progress take 64 MiB of a project, or 256 MiB of all projects. Default 1,048,576.',
      ),
    pty: TerminalSize.optional().describe(
      'Run in a terminal of this size, in a session of its own. All output is on `stdout`. Stdin stays open, and `eof` types the end-of-file character. `TERM` is `xterm-256color` unless `env` or the runtime sets it. A background command waits up to 10 s for an attachment that can write before output can be lost. Default: no terminal.',
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
    state: z.enum(commandStates).describe('The state of the command: `running`, or `exited` for any kind of end.'),
    command: z.string().nullable().describe('The given command line; null if `argv` was given.'),
    argv: z.array(z.string()).nullable().describe('The program and its arguments; null if `command` was given.'),
    cwd: z.string().describe('The directory in which the command started.'),
    user: z.string().describe('The user that the command runs as.'),
    exit_code: z
      .number()
      .int()
      .nullable()
      .describe('The exit status; 128 + n if signal n ended the command; null while it runs or if it is not known.'),
    signal: z
      .string()
      .nullable()
      .describe('The signal that ended the command, such as `SIGKILL`; null if no signal ended it.'),
    timed_out: z.boolean().describe('True if the command was killed at its time limit, `timeout_secs`.'),
    oom_killed: z.boolean().describe('True if one of its processes was killed because the runtime ran out of memory.'),
    started_at: Timestamp.describe('When the command started (RFC 3339 UTC with milliseconds).'),
    ended_at: Timestamp.nullable().describe(
      'When the command ended (RFC 3339 UTC with milliseconds); null while it runs.',
    ),
    duration_ms: z
      .number()
      .int()
      .nullable()
      .describe('The time from start to end in milliseconds; null while the command runs.'),
    stdout_bytes: z.number().int().describe('The number of bytes that the command has written to stdout.'),
    stderr_bytes: z.number().int().describe('The number of bytes that the command has written to stderr.'),
    dropped_bytes: z
      .number()
      .int()
      .describe('The number of output bytes that are no longer kept, both streams together.'),
    dropped: z
      .object({
        stdout: z.number().int().describe('The number of stdout bytes that are no longer kept.'),
        stderr: z.number().int().describe('The number of stderr bytes that are no longer kept.'),
      })
      .describe('The number of bytes that are no longer kept, for each stream.'),
    session: z.string().nullable().describe('The name of its shell session; null without a session.'),
    session_kept: z
      .boolean()
      .nullable()
      .describe(
        'True if the session keeps the directory and variables that the command set. False: the command was killed, timed out or replaced its shell, and the session stays as it was before. Null without a session and while the command runs.',
      ),
    pty: TerminalSize.nullable().describe('The size of its terminal; null without a terminal.'),
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
      stdout: z.boolean().describe('True if bytes of stdout are missing from this result.'),
      stderr: z.boolean().describe('True if bytes of stderr are missing from this result.'),
    })
    .describe('Says for each stream if bytes are missing from this result. The output route has the kept bytes.'),
}).meta({ id: 'CommandResult' })
export type CommandResult = z.infer<typeof CommandResult>

const cursor = z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.')

/** An item of a command's stream. Bytes that are not UTF-8 are sent with `encoding: "base64"`. */
export const OutputItem = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('start').describe('The first item: the command has started.'),
      cursor,
      command_id: idSchema('command').describe('The id of the command.'),
      pid: z.number().int().describe('The process id inside the runtime.'),
    }),
    z.object({
      type: z.enum(['stdout', 'stderr']).describe('The stream of this output. A terminal has only `stdout`.'),
      cursor,
      data: z.string().describe('The output, in the encoding of `encoding`.'),
      encoding: z
        .enum(['utf-8', 'base64'])
        .describe('The encoding of `data`: `base64` if the bytes are not valid UTF-8.'),
      at: Timestamp.optional().describe(
        'When the output was read from the command (RFC 3339 UTC with milliseconds). Older output of a command that writes for hours has a less exact time. Absent in runtimes of an older Holt.',
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
      exit_code: z
        .number()
        .int()
        .nullable()
        .describe('The exit status; 128 + n if signal n ended the command; null if it is not known.'),
      signal: z
        .string()
        .nullable()
        .describe('The signal that ended the command, such as `SIGKILL`; null if no signal ended it.'),
      timed_out: z.boolean().describe('True if the command was killed at its time limit.'),
      session_kept: z
        .boolean()
        .optional()
        .describe(
          'True if the session keeps the directory and variables that the command set. Absent without a session.',
        ),
      oom_killed: z
        .boolean()
        .optional()
        .describe('True if one of its processes was killed because the runtime ran out of memory; absent if none was.'),
      command: Command.optional().describe(
        'The final state of the command; absent if the runtime does not report it. Then read the command.',
      ),
    }),
    z.object({ type: z.literal('end').describe('The last item: nothing follows.'), cursor }),
  ])
  .meta({ id: 'OutputItem' })
export type OutputItem = z.infer<typeof OutputItem>

/** The query of a command's output. */
export const OutputQuery = z.strictObject({
  cursor: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Answer only output after this cursor. Default 0: all output that is kept.'),
  follow: z
    .enum(['true', 'false', '1', '0'])
    .default('false')
    .describe('True: stream output until the command ends. Default false.'),
})

/** The body of a write to stdin. */
export const WriteStdin = z
  .strictObject({
    data: z
      .string()
      .max(1024 * 1024)
      .default('')
      .describe('The bytes to write, at most 1 MiB of text. Default: none.'),
    encoding: z.enum(['utf-8', 'base64']).default('utf-8').describe('The encoding of `data`. Default `utf-8`.'),
    eof: z.boolean().default(false).describe('True: close stdin after the data. Default false.'),
    offset: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe(
        'The position of `data` in bytes since the start of stdin. Bytes that stdin already accepted are skipped, so a retry writes nothing twice. Default: after the accepted bytes.',
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
      .describe(
        'The number of accepted bytes. If the command does not read, this is less than the request sent; send the rest again.',
      ),
    offset: z.number().int().describe('The position of the next write, in bytes since the start of stdin.'),
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

const signalMessage = 'must be the name of a signal: SIGTERM, say, or SIGRTMIN+1'

const realTimeSignal = z.string().regex(realTimePattern, signalMessage) as unknown as z.ZodType<
  RealTimeSignal,
  RealTimeSignal
>

/** A signal by name. The real-time signals are `SIGRTMIN` and `SIGRTMIN+1` to `SIGRTMIN+30`. */
export const SignalName = z.union([z.enum(signalNames), realTimeSignal], signalMessage)
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
