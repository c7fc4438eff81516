import type { z } from 'zod'
import { MethodMaker, type RpcCall, type RpcMethods } from '../../connect/rpc-method.ts'
import { ConnectError } from '../../errors/connect-error.ts'
import type { FoundProcess, ProcessStart, TerminalSize } from '../backend/processes.ts'
import type { SandboxInside, VisitedSandbox } from '../backend/sandbox.ts'
import { processEvents, processKeepalive } from './process-events.ts'
import { closeInput, ended, findProcess, findRunning, writeInput } from './process-input.ts'
import {
  ListRequest,
  ProcessRequest,
  SendInputRequest,
  SendSignalRequest,
  StartRequest,
  StreamInputRequest,
  UpdateRequest,
} from './process-messages.ts'

/**
 * The time in which a process that was killed at its timeout is reported, in milliseconds. Then the
 * stream ends without it.
 */
const killGraceMs = 10_000

/** The longest tag, in bytes. */
const maxTagBytes = 1024

type Call = RpcCall<VisitedSandbox>

const make = new MethodMaker<VisitedSandbox>()
const stream = { keepalive: processKeepalive }

/** The methods of the service `process.Process`. */
export const processMethods: RpcMethods<VisitedSandbox> = {
  '/process.Process/Start': make.serverStream(StartRequest, { ...stream, graceMs: killGraceMs }, start),
  '/process.Process/Connect': make.serverStream(ProcessRequest, stream, connect),
  '/process.Process/List': make.unary(ListRequest, async (_, { context, signal }) =>
    list(await context.open(), signal),
  ),
  '/process.Process/SendInput': make.unary(SendInputRequest, (request, call) =>
    change(request, call, (process) => writeInput(process, request.input, call.signal)),
  ),
  '/process.Process/CloseStdin': make.unary(ProcessRequest, (request, call) =>
    change(request, call, (process) => closeInput(process, call.signal)),
  ),
  '/process.Process/SendSignal': make.unary(SendSignalRequest, (request, call) => {
    const { signal: name } = request
    if (name !== 'SIGNAL_SIGTERM' && name !== 'SIGNAL_SIGKILL')
      throw new ConnectError('unimplemented', 'The signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL.')
    const short = name === 'SIGNAL_SIGTERM' ? 'SIGTERM' : 'SIGKILL'
    return change(request, call, (process) => process.signal(short, call.signal))
  }),
  '/process.Process/Update': make.unary(UpdateRequest, (request, call) =>
    change(request, call, async (process) => {
      const size = request.pty?.size
      if (size === undefined) return 'done'
      if (!process.isTerminal)
        throw new ConnectError('failed_precondition', `The process ${process.pid} has no terminal.`)
      return process.resize(sizeOf(size), call.signal)
    }),
  ),
  '/process.Process/StreamInput': make.clientStream(StreamInputRequest, streamInput),
}

/** Changes a process that runs. */
async function change(
  { process: selector }: z.output<typeof ProcessRequest>,
  { context, signal }: Call,
  act: (process: FoundProcess) => Promise<unknown>,
): Promise<object> {
  const { processes } = await context.open()
  const process = await findRunning(processes, selector, signal)
  if ((await act(process)) === 'ended') throw ended(process)
  return {}
}

async function* start(request: StartRequest, call: Call): AsyncGenerator<object> {
  const { signal } = call
  const asked = startOf(request, call)
  const { processes } = await call.context.open()
  const { pid, items } = await processes.start(asked, signal)
  yield* processEvents(pid, items, { isTerminal: asked.terminal !== null })
}

function startOf({ process, pty, tag, stdin }: StartRequest, { user, timeoutMs }: Call): ProcessStart {
  if (process.cmd === '') throw new ConnectError('invalid_argument', 'The field process.cmd must name a program.')
  if (tag !== undefined && Buffer.byteLength(tag) > maxTagBytes)
    throw new ConnectError('invalid_argument', `The tag may have at most ${maxTagBytes} bytes.`)
  return {
    argv: [process.cmd, ...process.args],
    env: process.envs,
    cwd: process.cwd ?? '',
    account: user,
    terminal: pty === undefined ? null : sizeOf(pty.size ?? { cols: 80, rows: 24 }),
    hasStdin: stdin,
    tag: tag === undefined || tag === '' ? null : tag,
    timeoutMs,
  }
}

function sizeOf({ cols, rows }: TerminalSize): TerminalSize {
  const isSide = (side: number) => side >= 1 && side <= 10_000
  if (isSide(cols) && isSide(rows)) return { cols, rows }
  throw new ConnectError('invalid_argument', 'The size of a terminal must be 1 to 10000 columns and rows.')
}

async function* connect(
  { process: selector }: z.output<typeof ProcessRequest>,
  { context, signal }: Call,
): AsyncGenerator<object> {
  const { processes } = await context.open()
  const process = await findProcess(processes, selector, signal)
  yield* processEvents(process.pid, process.follow(signal), process)
}

async function list({ processes }: SandboxInside, signal: AbortSignal): Promise<object> {
  const running = await processes.list(signal)
  return {
    processes: running.map(({ pid, argv: [cmd = '', ...args], cwd, tag }) => ({
      config: { cmd, args, envs: {}, cwd },
      pid,
      ...(tag === null ? {} : { tag }),
    })),
  }
}

/**
 * Writes the inputs of a stream in their order. The process stays as it is when the stream ends.
 */
async function streamInput(
  messages: AsyncIterable<z.output<typeof StreamInputRequest>>,
  { context, signal }: Call,
): Promise<object> {
  let process: FoundProcess | null = null
  for await (const { start, data } of messages) {
    if (start !== undefined) {
      if (process !== null) throw new ConnectError('invalid_argument', 'The stream has a second start.')
      process = await findRunning((await context.open()).processes, start.process, signal)
    } else if (data !== undefined) {
      if (process === null) throw new ConnectError('invalid_argument', 'The first message of the stream must be start.')
      await writeInput(process, data.input, signal)
    }
  }
  return {}
}
