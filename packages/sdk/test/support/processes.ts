import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { type Command, makeId, type OutputItem, type StartCommand } from '@holt/protocol'
import { now } from './samples.ts'

/** A command as a process of this machine, with all its output kept. */
export class TestProcess {
  readonly items: OutputItem[] = []
  readonly command: Command
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()
  readonly #tellsEnd: boolean
  /** Bytes that stdin has taken. */
  taken = 0

  /** `tellsEnd`: whether `exit` carries the final state, as that of an older service does not. */
  constructor(body: StartCommand, cwd: string, tellsEnd = true) {
    this.#tellsEnd = tellsEnd
    const argv = body.argv ?? ['/bin/sh', '-c', body.command ?? '']
    const stdio = body.stdin === false ? 'ignore' : 'pipe'
    const env = { PATH: process.env.PATH, ...body.env }
    this.#child = spawn(argv[0] ?? '', argv.slice(1), { cwd, env, stdio: [stdio, 'pipe', 'pipe'], detached: true })
    if (typeof body.stdin === 'string') this.#child.stdin?.end(body.stdin)
    this.#child.stdin?.on('error', () => undefined)
    this.command = {
      command_id: makeId('command'),
      pid: this.#child.pid ?? 0,
      state: 'running',
      command: body.command ?? null,
      argv: body.argv ?? null,
      cwd: body.cwd ?? '/workspace',
      user: body.user ?? 'user',
      exit_code: null,
      signal: null,
      timed_out: false,
      started_at: now(),
      ended_at: null,
      duration_ms: null,
      stdout_bytes: 0,
      stderr_bytes: 0,
      dropped_bytes: 0,
      dropped: { stdout: 0, stderr: 0 },
      session: body.session ?? null,
      session_kept: null,
      oom_killed: false,
      pty: body.pty ?? null,
    }
    this.#add({ type: 'start', cursor: 1, command_id: this.command.command_id, pid: this.command.pid })
    this.#listen('stdout')
    this.#listen('stderr')
    const seconds = body.timeout_secs
    const timer = seconds > 0 && !body.background ? setTimeout(() => this.#expire(), seconds * 1000) : undefined
    this.#child.on('error', () => this.#end(127, null, timer))
    this.#child.on('close', (code, signal) => this.#end(code, signal, timer))
  }

  get ended(): boolean {
    return this.items.at(-1)?.type === 'end'
  }

  /** Resolves when there are more items than `seen`, or none will come. */
  async more(seen: number): Promise<void> {
    if (this.items.length > seen || this.ended) return
    await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  write(data: Buffer, eof: boolean): void {
    this.taken += data.length
    if (data.length > 0) this.#child.stdin?.write(data)
    if (eof) this.#child.stdin?.end()
  }

  get stdinIsOpen(): boolean {
    return this.#child.stdin?.writable === true
  }

  kill(signal: NodeJS.Signals): void {
    if (this.ended || this.#child.pid === undefined) return
    try {
      process.kill(-this.#child.pid, signal)
    } catch {
      // The group has just ended, which is what was wanted.
    }
  }

  /** All bytes of one stream. */
  text(stream: 'stdout' | 'stderr'): string {
    const chunks = this.items.filter((item) => item.type === stream) as { data: string; encoding: string }[]
    return Buffer.concat(
      chunks.map(({ data, encoding }) => Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8')),
    ).toString()
  }

  #listen(stream: 'stdout' | 'stderr'): void {
    this.#child[stream]?.on('data', (chunk: Buffer) => {
      const text = chunk.toString()
      const isText = Buffer.from(text).equals(chunk)
      this.command[`${stream}_bytes`] += chunk.length
      const data = isText ? text : chunk.toString('base64')
      this.#add({
        type: stream,
        cursor: this.items.length + 1,
        data,
        encoding: isText ? 'utf-8' : 'base64',
        at: new Date().toISOString(),
      })
    })
  }

  #expire(): void {
    this.command.timed_out = true
    this.kill('SIGKILL')
  }

  #end(code: number | null, signal: NodeJS.Signals | null, timer: NodeJS.Timeout | undefined): void {
    if (this.ended) return
    clearTimeout(timer)
    const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal])
    const ended = { state: 'exited' as const, exit_code: exitCode, signal, ended_at: now(), duration_ms: 1 }
    Object.assign(this.command, ended)
    this.#add({
      type: 'exit',
      cursor: this.items.length + 1,
      exit_code: exitCode,
      signal,
      timed_out: this.command.timed_out,
      ...(this.#tellsEnd ? { command: { ...this.command } } : {}),
    })
    this.#add({ type: 'end', cursor: this.items.length + 1 })
  }

  #add(item: OutputItem): void {
    this.items.push(item)
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}
