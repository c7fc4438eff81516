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

/** The most bytes of a frame, in either direction. */
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
    'Ask to write. One attachment at a time does; the others watch. Needs the scope `runtime:write`.',
  ),
  takeover: flag.describe('Write even where another attachment does, which is told and watches from then on.'),
  client: z
    .string()
    .regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -')
    .optional()
    .describe(
      'A name that a client makes up once: where it attaches again with the same one and the same key, its older attachment is closed, and it writes on.',
    ),
  window: z.coerce
    .number()
    .int()
    .min(attachFrameBytes)
    .max(16 * 1024 * 1024)
    .optional()
    .describe(
      'Send at most so many bytes of output beyond what the client has told as `taken`. Absent: as TCP allows.',
    ),
})
export type AttachQuery = z.output<typeof AttachQuery>

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const cursor = count.describe('Where the output is: attach again from it with `?cursor=`.')

/** A text frame of the service. Output is sent in binary frames between them. */
export const AttachServerFrame = z
  .discriminatedUnion('type', [
    z
      .object({
        type: z.literal('start').describe('The first frame of an attachment.'),
        command_id: idSchema('command').describe('The attached command.'),
        pid: count.describe('The process id inside the runtime.'),
        pty: TerminalSize.nullable().describe('The size of the terminal; null where the command has none.'),
        cursor,
        replay_end: count.describe('Output up to this cursor was written before this attachment came.'),
      })
      .describe('The first frame. The bytes of the binary frames that follow count from its cursor.'),
    z
      .object({
        type: z.literal('stream').describe('The stream of the following binary frames changes.'),
        stream: z.enum(['stdout', 'stderr']).describe('The stream that the following binary frames belong to.'),
        cursor,
      })
      .describe('The binary frames that follow are of this stream. They begin with stdout; a terminal has no other.'),
    z
      .object({
        type: z.literal('dropped').describe('Output was lost before the cursor.'),
        cursor,
        dropped_bytes: count.describe('The number of lost bytes.'),
      })
      .describe('Output that is no longer kept. What follows begins at the cursor.'),
    z
      .object({
        type: z.literal('writer').describe('Says whether this attachment may write.'),
        writing: z.boolean().describe('True if this attachment may write from now on.'),
        reason: z
          .enum(['granted', 'taken', 'lost', 'forbidden'])
          .describe(
            'Why: `granted`, `taken` (another attachment writes), `lost` (another one took over) or `forbidden` (the key lacks `runtime:write`).',
          ),
      })
      .describe(
        'Whether this attachment writes: `granted`; `taken`: another one does, ask with `takeover`; `lost`: another one has taken over; `forbidden`: the key lacks `runtime:write`.',
      ),
    z
      .object({
        type: z.literal('input').describe('Acknowledges input.'),
        taken_bytes: count.describe("Bytes of this attachment's input that are done with, since it began."),
      })
      .describe(
        'How many bytes of input of this attachment are done with, all together: the command has been given them, or they were refused, which an `error` before this frame says.',
      ),
    z
      .object({
        type: z.literal('resize').describe('The terminal has a new size.'),
        cols: count.describe('The width in characters.'),
        rows: count.describe('The height in characters.'),
      })
      .describe('The terminal has another size.'),
    z
      .object({
        type: z.literal('error').describe('A request of this attachment failed. The attachment goes on.'),
        about: z.enum(['input', 'resize', 'signal']).describe('The kind of request that failed.'),
        code: z
          .enum(Object.keys(errorCatalogue) as [keyof typeof errorCatalogue])
          .describe('The error code, from the catalogue.'),
        message: z.string().describe('What happened, in a sentence.'),
      })
      .describe('Something that this attachment asked for could not be done, input to a closed stdin say.'),
    z
      .object({
        type: z.literal('exit').describe('The command has ended.'),
        cursor,
        exit_code: z.number().int().nullable().describe('The exit status; 128 + n for a signal n. Null: not known.'),
        signal: z.string().nullable().describe('The signal that ended the command, such as `SIGKILL`; else null.'),
        timed_out: z.boolean().describe('True if the command was killed at its time limit.'),
      })
      .describe('The command has ended.'),
    z
      .object({
        type: z.literal('end').describe('The last frame. The service then closes the connection with 1000.'),
        cursor,
      })
      .describe('Nothing follows; then the connection is closed with 1000.'),
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
      .describe('Writer only.'),
    z
      .strictObject({
        type: z.literal('signal').describe('Sends a signal to the command. Writer only.'),
        signal: SignalName.describe('The signal by name, such as `SIGINT`.'),
      })
      .describe('Writer only.'),
    z
      .strictObject({ type: z.literal('eof').describe('Closes stdin. Writer only.') })
      .describe('Writer only. Closes stdin after what came before; in a terminal it types the end-of-file character.'),
    z
      .strictObject({
        type: z.literal('write').describe('Asks to write from now on.'),
        takeover: z
          .boolean()
          .default(false)
          .describe('True: take over from the attachment that writes now. Default false.'),
      })
      .describe('Ask to write from now on; a `writer` frame answers.'),
    z
      .strictObject({ type: z.literal('watch').describe('Stops writing, and goes on watching.') })
      .describe('Let somebody else write; a `writer` frame answers.'),
    z
      .strictObject({
        type: z.literal('taken').describe('Acknowledges output, for the flow control of `window`.'),
        cursor: count.describe('Output up to this cursor has been used.'),
      })
      .describe('Output up to this cursor has been used; see `window`.'),
  ])
  .meta({ id: 'AttachClientFrame' })
export type AttachClientFrame = z.infer<typeof AttachClientFrame>
export type AttachClientInput = z.input<typeof AttachClientFrame>

/** The description of the route in the API documents. */
export const attachDescription = [
  'For terminals, and for commands whose stdin is open. Binary frames are bytes: output from the service, input from the client (at most 64 KiB each). Text frames are JSON: `AttachServerFrame` and `AttachClientFrame`. The service closes a connection with 1008 that sends a message of more than 256 fragments, or more than 200 pings and pongs in ten seconds. A project attaches 64 times at once and then 20 times a second; more attachments wait up to ten seconds.',
  'The service begins with `start` at the cursor asked for, replays what is kept after it, goes on as output comes, and ends with `exit` and `end`. The client counts bytes from `start.cursor`, and sets its count at `dropped`: with that cursor it attaches again after a break, and nothing is lost or comes twice.',
  'Any number may watch (64 to a command), one writes at a time: input, `resize`, `signal` and `eof` of others are answered with an `error` frame. The command waits for a writer that is slow to read, as for a pipe, and for nobody else; a watcher that is slow misses what falls out of what is kept, and is told. The command goes on when everybody has left.',
  'The key comes in `Authorization`, or, where a browser is the client, as a subprotocol `holt.key.KEY` beside `holt.attach.v1`; never in the query. Without cookies there is nothing a foreign page could ride on, so `Origin` is not looked at. What is wrong with a request is answered as JSON before the upgrade.',
].join('\n\n')

/** The answer to an upgrade. */
export const attachAnswer = {
  type: 'websocket',
  server: AttachServerFrame,
  client: AttachClientFrame,
  description: 'The connection is a WebSocket.',
} as const
