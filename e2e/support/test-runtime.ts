import {
  CommandResult,
  type CopyFileInput,
  type CreateRuntimeInput,
  type CreateSnapshotInput,
  FileTransferred,
  Fork,
  type ForkRuntimeInput,
  Runtime,
  Snapshot,
  type StartCommandInput,
} from '@holt/protocol'
import { expect } from 'vitest'
import { type Answer, type CallOptions, call, runtimesPath, success } from './api.ts'

/** How a test runs a command. */
export type RunOptions = Omit<StartCommandInput, 'command' | 'argv'>

/** A runtime as tests use it: every answer is held against the contract. */
export class TestRuntime implements AsyncDisposable {
  readonly id: string
  readonly data: Runtime
  readonly path: string

  constructor(data: Runtime) {
    this.id = data.runtime_id
    this.data = data
    this.path = `${runtimesPath}/${data.runtime_id}`
  }

  /** Calls a route below this runtime. */
  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return call(method, this.path + path, options)
  }

  /** Runs a command and waits for its result. Text is run by the shell, a list as it is. */
  async run(command: string | readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const what = typeof command === 'string' ? { command } : { argv: [...command] }
    return success(await this.call('POST', '/commands', { json: { ...what, ...options } }), 200, CommandResult)
  }

  /**
   * Runs a shell script as root that has to succeed; answers its stdout without the last newline.
   */
  async sh(script: string, options: RunOptions = {}): Promise<string> {
    const { exit_code, stdout, stderr } = await this.run(`set -eu\n${script}`, { user: 'root', cwd: '/', ...options })
    expect(exit_code, `${script}\n${stdout}${stderr}`).toBe(0)
    return stdout.replace(/\n$/, '')
  }

  /** Runs a Python program as root that has to succeed and prints JSON. */
  async python<Value>(program: string, args: readonly string[] = [], options: RunOptions = {}): Promise<Value> {
    const { exit_code, stdout, stderr } = await this.run(['python', '-c', program, ...args], {
      user: 'root',
      cwd: '/',
      ...options,
    })
    expect(exit_code, stderr).toBe(0)
    return JSON.parse(stdout) as Value
  }

  /** Asks for a copy and answers whatever comes. */
  copy(body: CopyFileInput): Promise<Answer> {
    return this.call('POST', '/files/copy', { json: body })
  }

  /** A copy that has to succeed. */
  async copied(body: CopyFileInput): Promise<FileTransferred> {
    return success(await this.copy(body), 200, FileTransferred)
  }

  /** The runtime as the service sees it now. */
  async refresh(): Promise<Runtime> {
    return success(await call('GET', this.path), 200, Runtime)
  }

  /** Pauses it; that has to succeed. */
  async pause(): Promise<Runtime> {
    const paused = success(await this.call('POST', '/pause'), 200, Runtime)
    expect(paused).toMatchObject({ runtime_id: this.id, state: 'paused', expires_at: null })
    return paused
  }

  /** Resumes it; that has to succeed. */
  async resume(): Promise<Runtime> {
    const resumed = success(await this.call('POST', '/resume'), 200, Runtime)
    expect(resumed).toMatchObject({ runtime_id: this.id, state: 'running' })
    return resumed
  }

  /** Takes a snapshot that has to succeed. */
  async snapshot(json: CreateSnapshotInput = {}): Promise<Snapshot> {
    const snapshot = success(await this.call('POST', '/snapshot', { json }), 201, Snapshot)
    expect(snapshot).toMatchObject({ runtime_id: this.id, state: 'ready', state_reason: null })
    return snapshot
  }

  /** Forks it; every child has to start. */
  async fork(json: ForkRuntimeInput = {}): Promise<TestRuntime[]> {
    const { data } = success(await this.call('POST', '/fork', { json }), 201, Fork)
    expect(data).toHaveLength(json.count ?? 1)
    return data.map(({ runtime, error }) => {
      if (runtime === null) throw new Error(`a child was not started: ${JSON.stringify(error)}`)
      return new TestRuntime(runtime)
    })
  }

  /** Terminates it. */
  async delete(): Promise<void> {
    const answer = await call('DELETE', this.path)
    expect(answer.status, answer.text).toBe(204)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete()
  }
}

/** Creates a runtime that has to start. */
export async function createRuntime(body: CreateRuntimeInput = {}): Promise<TestRuntime> {
  return new TestRuntime(success(await call('POST', runtimesPath, { json: body }), 201, Runtime))
}
