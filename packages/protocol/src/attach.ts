import { z } from 'zod'
import { OutputQuery, SignalName, TerminalSize } from './command.ts'
import { errorCatalogue } from './errors.ts'
import { idSchema } from './ids.ts'

/**
 * The subprotocol of an attachment (RFC 6455, 1.9). A client that names subprotocols must name this
 * one.
 */
export const attachProtocol = 'holt.attach.v1'

/**
 * The prefix of the subprotocol that carries a key. A browser cannot set headers of a WebSocket.
 */
export const attachKeyPrefix = 'holt.key.'

/**
 * The prefix of the subprotocol that names the session of the console that a WebSocket uses: the id
 * of its key, a dot, and the page's token. The session's own token is in a cookie.
 */
export const attachConsolePrefix = 'holt.console.'

/** The maximum number of bytes of a frame, in either direction. */
export const attachFrameBytes = 64 * 1024

/**
 * The close codes of an attachment (RFC 6455, 7.4). A client may attach again from its cursor,
 * except after `ended`, `refused`, `tooLarge`, `unauthenticated` and `replaced`.
 */
export const attachCloseCodes = {
  /** All output has been sent. */
  ended: 1000,
  /** The service stops. */
  closing: 1001,
  /** The client violated the protocol, or sent too many pings. */
  refused: 1008,
  tooLarge: 1009,
  /** The runtime's guest, or the connection to it, failed. */
  failed: 1011,
  /** The key is no longer valid. */
  unauthenticated: 4401,
  /** The client read nothing for minutes, or does not answer. */
  silent: 4408,
  /** Another attachment of the same client replaced this one. */
  replaced: 4409,
} as const

const flag = z.enum(['true', 'false', '1', '0']).default('false')

/** The query of an attachment. */
export const AttachQuery = z.strictObject({
  cursor: OutputQuery.shape.cursor,
  write: flag.describe(
    'True: ask to write. Only one attachment writes at a time; the others watch. Needs the scope `runtime:write`. Default false.',
  ),
  takeover: flag.describe(
    'True: write even if another attachment writes now. That attachment is told, and watches from then on. Default false.',
  ),
  client: z
    .string()
    .regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -')
    .optional()
    .describe(
      'An id that the client chooses once, for reconnects. A new attachment with the same id and key closes the older one and keeps its right to write. Default: none.',
    ),
  window: z.coerce
    .number()
    .int()
    .min(attachFrameBytes)
    .max(16 * 1024 * 1024)
    .optional()
    .describe(
      'The flow control window in bytes: the service sends at most this much output beyond the last `taken` frame. Default: none, only the flow control of TCP.',
    ),
})
export type AttachQuery = z.output<typeof AttachQuery>

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const cursor = count.describe('The position in the output. To attach again from here, send it as `?cursor=`.')

/** A text frame of the service. Output is sent in binary frames between them. */
export const AttachServerFrame = z
  .discriminatedUnion('type', [
    z
      .object({
        type: z.literal('start').describe('The first frame of an attachment.'),
        command_id: idSchema('command').describe('The attached command.'),
        pid: count.describe('The process id inside the runtime.'),
        pty: TerminalSize.nullable().describe('The size of the terminal; null if the command has no terminal.'),
        cursor,
        replay_end: count.describe('Output before this cursor was written before this attachment began.'),
        counts_input: z
          .boolean()
          .optional()
          .describe(
            'True: the service accepts `input` frames, which keep a reconnect from typing anything twice. Absent in an older service.',
          ),
      })
      .describe('The first frame. The bytes of the binary frames that follow count from its cursor.'),
    z
      .object({
        type: z.literal('stream').describe('The stream of the following binary frames changes.'),
        stream: z.enum(['stdout', 'stderr']).describe('The stream that the following binary frames belong to.'),
        cursor,
      })
      .describe(
        'Names the stream of the binary frames that follow. An attachment begins with stdout. A terminal has only stdout.',
      ),
    z
      .object({
        type: z.literal('dropped').describe('Output was lost before the cursor.'),
        cursor,
        dropped_bytes: count.describe('The number of lost bytes.'),
      })
      .describe('Output that is no longer kept. The next output begins at the cursor.'),
    z
      .object({
        type: z.literal('writer').describe('Says whether this attachment may write.'),
        writing: z.boolean().describe('True if this attachment may write from now on.'),
        reason: z
          .enum(['granted', 'taken', 'lost', 'forbidden'])
          .describe(
            'The reason: `granted`, `taken` (another attachment writes), `lost` (another attachment took over) or `forbidden` (the key lacks `runtime:write`).',
          ),
      })
      .describe(
        'Says whether this attachment may write, and why. If the reason is `taken`, ask again with `takeover`.',
      ),
    z
      .object({
        type: z.literal('input').describe('Acknowledges input.'),
        taken_bytes: count.describe(
          'The number of input bytes of this attachment that the command received or the service refused, since the attachment began.',
        ),
      })
      .describe(
        'Acknowledges input: the total of bytes that the command received or the service refused. An `error` frame comes before the acknowledgement of refused input.',
      ),
    z
      .object({
        type: z.literal('resize').describe('The size of the terminal changed.'),
        cols: count.describe('The width in characters.'),
        rows: count.describe('The height in characters.'),
      })
      .describe('The size of the terminal changed.'),
    z
      .object({
        type: z.literal('error').describe('A request of this attachment failed. The attachment continues.'),
        about: z.enum(['input', 'resize', 'signal']).describe('The kind of request that failed.'),
        code: z
          .enum(Object.keys(errorCatalogue) as [keyof typeof errorCatalogue])
          .describe('The error code, from the catalogue.'),
        message: z.string().describe('A sentence for people that says what happened.'),
      })
      .describe('A request of this attachment failed, for example input to a closed stdin. The attachment continues.'),
    z
      .object({
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
      })
      .describe('The command has ended.'),
    z
      .object({
        type: z.literal('end').describe('The last frame. The service then closes the connection with 1000.'),
        cursor,
      })
      .describe('The last frame. The service then closes the connection with 1000.'),
  ])
  .meta({ id: 'AttachServerFrame' })
export type AttachServerFrame = z.infer<typeof AttachServerFrame>

/** A text frame of a client. Input is sent in binary frames between them. */
export const AttachClientFrame = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('resize').describe('Sets the size of the terminal. Writer only.'),
        ...TerminalSize.shape,
      })
      .describe('Sets the size of the terminal. Writer only.'),
    z
      .strictObject({
        type: z.literal('signal').describe('Sends a signal to the command. Writer only.'),
        signal: SignalName.describe('The signal by name, such as `SIGINT`.'),
      })
      .describe('Sends a signal to the command. Writer only.'),
    z
      .strictObject({
        type: z.literal('input').describe('Sets the position of the next binary frame. Needs `client`.'),
        position: count.describe('The number of input bytes that this `client` has sent before the next binary frame.'),
      })
      .describe(
        'Sets the position of the next binary frame, which counts over all attachments of this `client`. The service types the bytes of a position once. After a broken connection, the client sends the binary frames without an acknowledgement again, unchanged, from their position. Only if `start.counts_input` is true.',
      ),
    z
      .strictObject({ type: z.literal('eof').describe('Closes stdin. Writer only.') })
      .describe(
        'Closes stdin after the input before this frame. In a terminal, it types the end-of-file character. Writer only.',
      ),
    z
      .strictObject({
        type: z.literal('write').describe('Asks to write from now on.'),
        takeover: z
          .boolean()
          .default(false)
          .describe('True: take over from the attachment that writes now. Default false.'),
      })
      .describe('Asks to write from now on. A `writer` frame answers.'),
    z
      .strictObject({ type: z.literal('watch').describe('Stops writing and continues to watch.') })
      .describe('Stops writing, so that another attachment can write. A `writer` frame answers.'),
    z
      .strictObject({
        type: z.literal('taken').describe('Acknowledges output, for the flow control of `window`.'),
        cursor: count.describe('The client has used the output before this cursor.'),
      })
      .describe('Acknowledges the output before the cursor, for the flow control of `window`.'),
  ])
  .meta({ id: 'AttachClientFrame' })
export type AttachClientFrame = z.infer<typeof AttachClientFrame>
export type AttachClientInput = z.input<typeof AttachClientFrame>

/** The description of the route in the API documents. */
export const attachDescription = [
  'For terminals, and for commands whose stdin is open. Binary frames are bytes: output from the service, input from the client (at most 64 KiB each). Text frames are JSON: `AttachServerFrame` and `AttachClientFrame`. The service closes a connection with 1008 that sends a message of more than 256 fragments, or more than 200 pings and pongs in ten seconds. A project attaches 64 times at once and then 20 times a second; more attachments wait up to ten seconds.',
  'The service begins with `start` at the requested cursor, replays the kept output after it, and continues with new output. It ends with `exit` and `end`. The client counts bytes from `start.cursor`, and sets its count at `dropped`. With that cursor it attaches again after a break, without loss or repetition. Input is as safe for a client that counts it: see the client frame `input`.',
  'Any number may watch (64 to a command), one writes at a time: input, `resize`, `signal` and `eof` of others are answered with an `error` frame. The command waits for a writer that is slow to read, as for a pipe, and for nobody else; a slow watcher misses output that is no longer kept, and is told. The command continues when everybody has left.',
  'The key comes in `Authorization`, or, where a browser is the client, as a subprotocol `holt.key.KEY` beside `holt.attach.v1`; never in the query. The service uses no cookies, so another page has no credentials to use, and `Origin` is not checked. An invalid request is answered as JSON before the upgrade.',
].join('\n\n')

/** The answer to an upgrade. */
export const attachAnswer = {
  type: 'websocket',
  server: AttachServerFrame,
  client: AttachClientFrame,
  description: 'The connection is a WebSocket.',
} as const
