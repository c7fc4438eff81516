import { Readable } from 'node:stream'
import { HoltError } from '@holt/protocol'
import type { StartProcess } from '../guest/guest-client.ts'
import type { GuestItem, GuestProcess, GuestSession, GuestTerminal } from '../guest/schemas.ts'
import type { FakeAnswer } from './fake-guest.ts'

interface Running {
  info: GuestProcess
  readonly items: GuestItem[]
  readonly waiting: Set<() => void>
  readonly transient: boolean
  readonly background: boolean
  stdin: ReadStdin | null
  /** The bytes that stdin has taken. */
  taken: number
  timer: NodeJS.Timeout | null
  /**
   * The end of `timer` on the monotonic clock. While nothing runs: the time that was left, in
   * milliseconds.
   */
  deadline: number | null
}

/** Takes input. It has no state of its own, so that a copy of the process can continue with it. */
type ReadStdin = (data: Buffer, eof: boolean, console: Pick<Console, 'write' | 'exit'>) => void

/** The functions that a fake program may use. */
interface Console {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly session: FakeSession | null
  write(stream: 'stdout' | 'stderr', data: string | Buffer): void
  exit(code: number): void
  onStdin(read: ReadStdin): void
}

const programs: Readonly<Record<string, (console: Console) => void>> = {
  true: ({ exit }) => exit(0),
  false: ({ exit }) => exit(1),
  exit: ({ argv, exit }) => exit(Number(argv[1])),
  echo: ({ argv, write, exit }) => {
    write('stdout', `${argv.slice(1).join(' ')}\n`)
    exit(0)
  },
  complain: ({ argv, write, exit }) => {
    write('stderr', `${argv.slice(1).join(' ')}\n`)
    exit(1)
  },
  bytes: ({ argv, write, exit }) => {
    write('stdout', Buffer.from(argv[1] ?? '', 'hex'))
    exit(0)
  },
  fill: ({ argv, write, exit }) => {
    for (let left = Number(argv[1]); left > 0; left -= 32_768) write('stdout', 'x'.repeat(Math.min(left, 32_768)))
    exit(0)
  },
  cd: ({ argv, session, exit }) => {
    if (session !== null) session.info.cwd = argv[1] ?? '/'
    exit(0)
  },
  printenv: ({ argv, env, write, exit }) => {
    write('stdout', `${env[argv[1] ?? ''] ?? ''}\n`)
    exit(0)
  },
  cat: ({ onStdin }) =>
    onStdin((data, eof, { write, exit }) => {
      if (data.length > 0) write('stdout', data)
      if (eof) exit(0)
    }),
  sleep: () => {},
}

/** A shell session of a fake guest. It keeps only the directory that `cd` names. */
interface FakeSession {
  readonly info: { -readonly [Key in keyof GuestSession]: GuestSession[Key] }
}

/**
 * The processes of a fake guest. Programs: `true false exit echo complain bytes fill cd printenv
 * cat sleep`. A command line is split at spaces. A request to a busy session is refused at once.
 */
export class FakeProcesses {
  readonly #processes = new Map<string, Running>()
  readonly #sessions = new Map<string, FakeSession>()
  #nextPid = 10
  #stopped = false

  get size(): number {
    return this.#running.length
  }

  /** The number of running processes that were not started with `background`. */
  get foreground(): number {
    return this.#running.filter(({ background }) => !background).length
  }

  get #running(): readonly Running[] {
    return [...this.#processes.values()].filter(({ info }) => info.state === 'running')
  }

  start(
    request: StartProcess,
    defaults: { env: Record<string, string>; user: string; workdir: string },
    follow: boolean,
  ): FakeAnswer {
    if (this.#processes.has(request.id)) throw new HoltError('already_exists', `process ${request.id} exists`)
    const argv = request.argv ?? (request.command ?? '').split(' ')
    const [name = ''] = argv
    const program = Object.hasOwn(programs, name) ? programs[name] : undefined
    if (program === undefined)
      throw new HoltError('invalid_request', `there is no program ${argv[0]}`, {
        details: { reason: 'program_not_found' },
      })
    const session = this.#enter(request, defaults)
    const running: Running = {
      info: this.#info(request, { ...defaults, workdir: session?.info.cwd ?? defaults.workdir }),
      items: [],
      waiting: new Set(),
      transient: request.transient === true,
      background: request.background === true,
      stdin: null,
      taken: 0,
      timer: null,
      deadline: request.timeout_ms > 0 ? performance.now() + request.timeout_ms : null,
    }
    this.#processes.set(request.id, running)
    this.#add(running, { type: 'start', cursor: 0, pid: running.info.pid })
    program({
      argv,
      env: { ...defaults.env, ...request.env },
      session,
      ...this.#consoleOf(running),
      onStdin: (read) => {
        running.stdin = read
      },
    })
    if (request.stdin_data !== null) this.#type(running, Buffer.from(request.stdin_data, 'base64'), true)
    else if (request.stdin === 'none' && request.pty === null) this.#type(running, Buffer.alloc(0), true)
    this.#startTimer(running)
    return follow ? this.#stream(running, 0, true) : { status: 201, json: running.info }
  }

  list(): FakeAnswer {
    return { json: { processes: [...this.#processes.values()].map(({ info }) => info).reverse() } }
  }

  get(id: string): FakeAnswer {
    return { json: this.#find(id).info }
  }

  output(id: string, query: URLSearchParams): FakeAnswer {
    return this.#stream(this.#find(id), Number(query.get('cursor')), query.get('follow') === '1')
  }

  stdin(id: string, query: URLSearchParams, data: Buffer): FakeAnswer {
    const running = this.#find(id)
    const { taken } = running
    const offset = Number(query.get('offset') ?? taken)
    if (offset > taken)
      throw new HoltError('conflict', 'there is a gap', { details: { reason: 'stdin_gap', offset: taken } })
    const fresh = data.subarray(taken - offset)
    if (running.stdin === null || running.info.state === 'exited') {
      if (query.has('offset') && fresh.length === 0) return { json: { written_bytes: 0, offset: taken } }
      throw new HoltError('conflict', 'stdin is closed', { details: { reason: 'stdin_closed', offset: taken } })
    }
    running.taken += fresh.length
    this.#type(running, fresh, query.get('eof') === '1')
    return { json: { written_bytes: fresh.length, offset: running.taken } }
  }

  listSessions(): FakeAnswer {
    return { json: { sessions: [...this.#sessions.values()].map(({ info }) => info).reverse() } }
  }

  endSession(name: string): FakeAnswer {
    const session = this.#sessions.get(name)
    if (session === undefined) throw new HoltError('session_not_found', `there is no session ${name}`)
    this.#sessions.delete(name)
    if (session.info.current !== null) this.kill(session.info.current)
    return { json: {} }
  }

  signal(id: string, signal: string): FakeAnswer {
    const running = this.#find(id)
    if (running.info.state === 'exited') throw new HoltError('conflict', 'the process has ended')
    if (signal === 'SIGKILL' || signal === 'SIGTERM')
      this.#exit(running, { exit_code: signal === 'SIGKILL' ? 137 : 143, signal, timed_out: false })
    return { json: running.info }
  }

  resize(id: string, pty: GuestTerminal): FakeAnswer {
    const running = this.#find(id)
    if (running.info.pty === null) throw new HoltError('conflict', 'the process has no terminal')
    if (running.info.state === 'exited') throw new HoltError('conflict', 'the process has ended')
    running.info = { ...running.info, pty }
    return { json: running.info }
  }

  kill(id: string): FakeAnswer {
    const running = this.#find(id)
    if (running.info.state === 'running') this.#exit(running, { exit_code: 137, signal: 'SIGKILL', timed_out: false })
    return { json: running.info }
  }

  /**
   * Returns a copy of the processes with all their output. The copy does not run until `resume`.
   */
  copy(): FakeProcesses {
    const copy = new FakeProcesses()
    copy.#nextPid = this.#nextPid
    for (const [name, { info }] of this.#sessions) copy.#sessions.set(name, { info: { ...info } })
    const now = performance.now()
    for (const [id, running] of this.#processes) {
      const { deadline, timer } = running
      const left = deadline === null || timer === null ? deadline : deadline - now
      copy.#processes.set(id, {
        ...running,
        items: [...running.items],
        waiting: new Set(),
        timer: null,
        deadline: left,
      })
    }
    return copy
  }

  /** Pauses the timers of all processes. */
  pause(): void {
    const now = performance.now()
    for (const running of this.#processes.values()) {
      if (running.timer === null || running.deadline === null) continue
      clearTimeout(running.timer)
      running.timer = null
      running.deadline -= now
    }
  }

  /** Continues the timers of all processes. */
  resume(): void {
    const now = performance.now()
    for (const running of this.#processes.values()) {
      if (running.timer !== null || running.deadline === null) continue
      running.deadline += now
      this.#startTimer(running)
    }
  }

  /** Ends every stream, as a guest that dies does. */
  stop(): void {
    this.#stopped = true
    for (const running of this.#processes.values()) {
      if (running.timer !== null) clearTimeout(running.timer)
      for (const wake of running.waiting) wake()
    }
    this.#processes.clear()
  }

  #startTimer(running: Running): void {
    if (running.deadline === null || running.info.state === 'exited') return
    const end = () => this.#exit(running, { exit_code: 137, signal: 'SIGKILL', timed_out: true })
    running.timer = setTimeout(end, Math.max(0, running.deadline - performance.now()))
  }

  #consoleOf(running: Running): Pick<Console, 'write' | 'exit'> {
    return {
      write: (stream, data) => this.#write(running, stream, Buffer.from(data)),
      exit: (code) => this.#exit(running, { exit_code: code, signal: null, timed_out: false }),
    }
  }

  #type(running: Running, data: Buffer, eof: boolean): void {
    running.stdin?.(data, eof, this.#consoleOf(running))
  }

  #find(id: string): Running {
    const running = this.#processes.get(id)
    if (running === undefined) throw new HoltError('command_not_found', `there is no process ${id}`)
    return running
  }

  /** Returns the session of a process. */
  #enter({ id, session: name, user }: StartProcess, defaults: { user: string; workdir: string }): FakeSession | null {
    if (name === undefined) return null
    const now = Date.now()
    const session = this.#sessions.get(name) ?? {
      info: {
        name,
        shell: '/bin/bash',
        user: user ?? defaults.user,
        cwd: defaults.workdir,
        commands: 0,
        current: null,
        started_at_ms: now,
        used_at_ms: now,
      },
    }
    if (session.info.current !== null)
      throw new HoltError('conflict', `session ${name} is busy`, { details: { reason: 'session_busy' } })
    this.#sessions.set(name, session)
    Object.assign(session.info, { current: id, commands: session.info.commands + 1, used_at_ms: now })
    return session
  }

  #info(
    { id, command, argv, cwd, user, session, pty }: StartProcess,
    defaults: { user: string; workdir: string },
  ): GuestProcess {
    return {
      id,
      pid: this.#nextPid++,
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
    }
  }

  #write(running: Running, type: 'stdout' | 'stderr', data: Buffer): void {
    const { info } = running
    const cursor = info.cursor + data.length
    running.info = { ...info, cursor, [`${type}_bytes`]: info[`${type}_bytes`] + data.length }
    this.#add(running, { type, cursor, data: data.toString('base64'), at_ms: Date.now() })
  }

  #exit(running: Running, how: Pick<GuestProcess, 'exit_code' | 'signal' | 'timed_out'>): void {
    if (running.timer !== null) clearTimeout(running.timer)
    running.timer = null
    running.deadline = null
    const { session } = running.info
    const kept = session === null ? {} : { session_kept: how.signal === null }
    const ended_at_ms = Date.now()
    running.info = { ...running.info, ...how, ...kept, state: 'exited', ended_at_ms }
    const { started_at_ms } = running.info
    const left = this.#sessions.get(session ?? '')
    if (left !== undefined) left.info.current = null
    this.#add(running, { type: 'exit', cursor: running.info.cursor, ...how, started_at_ms, ended_at_ms, ...kept })
    if (running.transient) this.#processes.delete(running.info.id)
  }

  #add(running: Running, item: GuestItem): void {
    running.items.push(item)
    for (const wake of running.waiting) wake()
  }

  #stream(running: Running, cursor: number, follow: boolean): FakeAnswer {
    return {
      headers: { 'content-type': 'application/x-ndjson' },
      stream: readableOf(this.#lines(running, cursor, follow)),
    }
  }

  async *#lines(running: Running, cursor: number, follow: boolean): AsyncGenerator<Buffer> {
    for (let index = 0; ; index += 1) {
      while (index >= running.items.length) {
        if (!follow || running.info.state === 'exited') {
          yield line({ type: 'end', cursor: running.info.cursor })
          return
        }
        await new Promise<void>((resolve) => running.waiting.add(resolve))
        if (this.#stopped) return
      }
      const item = running.items[index]
      if (
        item !== undefined &&
        (item.cursor > cursor || item.type === 'exit' || (item.type === 'start' && cursor === 0))
      )
        yield line(after(item, cursor))
    }
  }
}

/** Returns an item without the bytes before a cursor, which may lie inside it. */
function after(item: GuestItem, cursor: number): GuestItem {
  if (item.type !== 'stdout' && item.type !== 'stderr') return item
  const data = Buffer.from(item.data, 'base64')
  return { ...item, data: data.subarray(Math.max(0, cursor - (item.cursor - data.length))).toString('base64') }
}

/**
 * Returns a stream of a generator's items. It can be destroyed at once, even while the generator
 * waits.
 */
function readableOf(parts: AsyncGenerator<Buffer>): Readable {
  return new Readable({
    read() {
      parts.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error) => this.destroy(error),
      )
    },
  })
}

function line(item: GuestItem): Buffer {
  return Buffer.from(`${JSON.stringify(item)}\n`)
}
