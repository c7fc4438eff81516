import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** An answer that the plain server repeats. */
export interface PlainAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The first message to the plain server. A later one replaces its answers. */
export interface PlainServerSettings {
  readonly answers: Readonly<Record<string, PlainAnswer>>
  /** The file of the durable writes. */
  readonly file: string
}

const startTimeoutMs = 30_000
const mainFile = join(import.meta.dirname, 'plain-server-main.ts')

/** A Node server in its own process that only answers: the minimal cost of an HTTP request. */
export class PlainServer implements AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly #child: ChildProcess
  readonly #dir: string

  private constructor(port: number, child: ChildProcess, dir: string) {
    this.url = `http://127.0.0.1:${port}`
    this.port = port
    this.#child = child
    this.#dir = dir
  }

  /** Starts the server. Its durable writes go to a file below `parent`. */
  static async start(parent: string, signal: AbortSignal): Promise<PlainServer> {
    await mkdir(parent, { recursive: true })
    const dir = await mkdtemp(join(parent, 'plain-'))
    const child = spawn(process.execPath, [mainFile], { cwd: '/', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    try {
      const listening = messageOf(child, signal)
      child.send({ answers: {}, file: join(dir, 'log') } satisfies PlainServerSettings)
      return new PlainServer(Number(await listening), child, dir)
    } catch (error) {
      child.kill('SIGKILL')
      await rm(dir, { recursive: true, force: true })
      throw error
    }
  }

  /** Sets the answers by path. */
  async answer(answers: Readonly<Record<string, PlainAnswer>>, signal: AbortSignal): Promise<void> {
    const changed = messageOf(this.#child, signal)
    this.#child.send({ answers, file: '' } satisfies PlainServerSettings)
    await changed
  }

  /** Requests a path and reads the whole answer. */
  async get(path: string, signal: AbortSignal): Promise<void> {
    await read(await fetch(`${this.url}${path}`, { signal }))
  }

  /** Requests a write that is durable before the answer. */
  async writeDurably(signal: AbortSignal): Promise<void> {
    await read(await fetch(`${this.url}/durable`, { method: 'POST', body: '{}', signal }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#child.exitCode === null && this.#child.signalCode === null ? once(this.#child, 'exit') : null
    this.#child.kill('SIGKILL')
    await ended
    await rm(this.#dir, { recursive: true, force: true })
  }
}

async function read(response: Response): Promise<void> {
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the plain server answered ${response.status}`)
}

/** Waits for the next message of the server. Rejects if the server ends before it. */
async function messageOf(child: ChildProcess, signal: AbortSignal): Promise<unknown> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)])
  const settled = new AbortController()
  try {
    const options = { signal: AbortSignal.any([limit, settled.signal]) }
    const ended = once(child, 'exit', options).then(([code]) => {
      throw new Error(`the plain server has ended with ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message', options), ended])
    return message
  } finally {
    settled.abort()
  }
}
