import type { GuestProcess, GuestTerminal, StartProcess } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { FakeProcess } from './fake-process.ts'
import { programs } from './fake-programs.ts'
import { FakeSessions } from './fake-sessions.ts'

/** The settings that a process has unless its request names others. */
export interface FakeDefaults {
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
}

/**
 * The processes of a fake guest. Programs: `true false exit echo complain bytes fill cd printenv
 * cat sleep`. A command line is split at spaces. A request to a busy session is refused at once.
 */
export class FakeProcesses {
  readonly #processes = new Map<string, FakeProcess>()
  readonly #sessions: FakeSessions
  #nextPid = 10

  constructor(sessions = new FakeSessions()) {
    this.#sessions = sessions
  }

  get size(): number {
    return this.#running.length
  }

  /** The number of running processes that were not started with `background`. */
  get foreground(): number {
    return this.#running.filter(({ background }) => !background).length
  }

  get #running(): readonly FakeProcess[] {
    return [...this.#processes.values()].filter(({ isRunning }) => isRunning)
  }

  start(request: StartProcess, defaults: FakeDefaults, follow: boolean): FakeAnswer {
    if (this.#processes.has(request.id)) throw new HoltError('already_exists', `process ${request.id} exists`)
    const argv = request.argv ?? (request.command ?? '').split(' ')
    const [name = ''] = argv
    const program = Object.hasOwn(programs, name) ? programs[name] : undefined
    if (program === undefined)
      throw new HoltError('invalid_request', `there is no program ${argv[0]}`, {
        details: { reason: 'program_not_found' },
      })
    const session = this.#sessions.enter(request, defaults)
    const workdir = session?.info.cwd ?? defaults.workdir
    const process = new FakeProcess({
      info: newProcess(request, { pid: this.#nextPid++, user: defaults.user, workdir }),
      transient: request.transient === true,
      background: request.background === true,
      deadline: request.timeout_ms > 0 ? performance.now() + request.timeout_ms : null,
      onExit: this.#onExit,
    })
    this.#processes.set(request.id, process)
    process.run(program, { argv, env: { ...defaults.env, ...request.env }, session }, inputOf(request))
    return follow ? process.output(0, true) : { status: 201, json: process.info }
  }

  list(query = new URLSearchParams()): FakeAnswer {
    const [pid, label] = [query.get('pid'), query.get('label')]
    const processes = [...this.#processes.values()]
      .map(({ info }) => info)
      .reverse()
      .filter((info) => (pid === null || info.pid === Number(pid)) && (label === null || info.label === label))
    if (pid === null && label === null) return { json: { processes } }
    const isRunning = ({ state }: GuestProcess) => state === 'running'
    return { json: { processes: [...processes.filter(isRunning), ...processes.filter((one) => !isRunning(one))] } }
  }

  get(id: string): FakeAnswer {
    return { json: this.#find(id).info }
  }

  output(id: string, query: URLSearchParams): FakeAnswer {
    return this.#find(id).output(Number(query.get('cursor')), query.get('follow') === '1')
  }

  stdin(id: string, query: URLSearchParams, data: Buffer): FakeAnswer {
    const offset = query.get('offset')
    const how = { eof: query.get('eof') === '1', offset: offset === null ? null : Number(offset) }
    return this.#find(id).write(data, how)
  }

  listSessions(): FakeAnswer {
    return this.#sessions.list()
  }

  endSession(name: string): FakeAnswer {
    const current = this.#sessions.remove(name)
    if (current !== null) this.kill(current)
    return { json: {} }
  }

  signal(id: string, signal: string): FakeAnswer {
    const process = this.#findRunning(id)
    if (signal === 'SIGKILL' || signal === 'SIGTERM') process.kill(signal)
    return { json: process.info }
  }

  resize(id: string, pty: GuestTerminal): FakeAnswer {
    if (this.#find(id).info.pty === null) throw new HoltError('conflict', 'the process has no terminal')
    const process = this.#findRunning(id)
    process.resize(pty)
    return { json: process.info }
  }

  kill(id: string): FakeAnswer {
    const process = this.#find(id)
    if (process.isRunning) process.kill('SIGKILL')
    return { json: process.info }
  }

  /**
   * Returns a copy of the processes with all their output. The copy does not run until `resume`.
   */
  copy(): FakeProcesses {
    const copy = new FakeProcesses(this.#sessions.copy())
    copy.#nextPid = this.#nextPid
    for (const [id, process] of this.#processes) copy.#processes.set(id, process.copy(copy.#onExit))
    return copy
  }

  /** Pauses the timers of all processes. */
  pause(): void {
    for (const process of this.#processes.values()) process.pause()
  }

  /** Continues the timers of all processes. */
  resume(): void {
    for (const process of this.#processes.values()) process.resume()
  }

  /** Ends every stream, as a guest that dies does. */
  stop(): void {
    for (const process of this.#processes.values()) process.stop()
    this.#processes.clear()
  }

  readonly #onExit = ({ info, transient }: FakeProcess): void => {
    this.#sessions.leave(info.session)
    if (transient) this.#processes.delete(info.id)
  }

  #find(id: string): FakeProcess {
    const process = this.#processes.get(id)
    if (process === undefined) throw new HoltError('command_not_found', `there is no process ${id}`)
    return process
  }

  #findRunning(id: string): FakeProcess {
    const process = this.#find(id)
    if (!process.isRunning) throw new HoltError('conflict', 'the process has ended')
    return process
  }
}

/** Returns the input that a request brings: all of it, or none at all. Null if it comes later. */
function inputOf({ stdin_data: data, stdin, pty }: StartProcess): Buffer | null {
  if (data !== null) return Buffer.from(data, 'base64')
  return stdin === 'none' && pty === null ? Buffer.alloc(0) : null
}

function newProcess(
  { id, command, argv, cwd, user, session, pty, label }: StartProcess,
  defaults: { pid: number; user: string; workdir: string },
): GuestProcess {
  return {
    id,
    pid: defaults.pid,
    command,
    argv: argv === null ? null : [...argv],
    cwd: cwd ?? defaults.workdir,
    user: user ?? defaults.user,
    state: 'running',
    exit_code: null,
    signal: null,
    timed_out: false,
    started_at_ms: Date.now(),
    ended_at_ms: null,
    cursor: 0,
    stdout_bytes: 0,
    stderr_bytes: 0,
    dropped_bytes: 0,
    stdout_dropped_bytes: 0,
    stderr_dropped_bytes: 0,
    descendants: false,
    session: session ?? null,
    session_kept: null,
    oom_killed: false,
    pty,
    ...(label === undefined ? {} : { label }),
  }
}
