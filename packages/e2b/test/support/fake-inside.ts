import { Readable } from 'node:stream'
import {
  ConnectError,
  type FileChange,
  type FileFacts,
  type FoundProcess,
  type ProcessItem,
  type ProcessStart,
  type SandboxInside,
} from '../../src/index.ts'

/** A process of the fake: its input, and the items that readers get. */
interface FakeProcess {
  readonly start: ProcessStart
  readonly pid: number
  readonly input: Buffer[]
  open: boolean
  readonly items: ProcessItem[]
  waiting: (() => void)[]
}

/** A sandbox in memory. `items` of a program are what its processes write; others wait. */
export class FakeInside implements SandboxInside {
  readonly contents = new Map<string, Buffer>()
  readonly started: FakeProcess[] = []
  readonly changes: FileChange[] = []
  /** True once a reader has left before the end. */
  left = false
  #programs: Readonly<Record<string, readonly ProcessItem[]>>

  constructor(programs: Readonly<Record<string, readonly ProcessItem[]>> = {}) {
    this.#programs = programs
  }

  readonly processes: SandboxInside['processes'] = {
    start: async (start, signal) => {
      if (start.cwd === '/nope') throw new ConnectError('invalid_argument', "cwd '/nope' does not exist")
      const items = [...(this.#programs[start.argv[0] ?? ''] ?? [])]
      const process = { start, pid: 100 + this.started.length, input: [], open: start.hasStdin, items, waiting: [] }
      this.started.push(process)
      return { pid: process.pid, items: this.#follow(process, signal) }
    },
    find: async (name) => {
      const found = this.started.find(({ pid, start }) => ('pid' in name ? pid === name.pid : start.tag === name.tag))
      return found === undefined ? null : this.#found(found)
    },
    list: async () => this.started.map(({ pid, start: { argv, cwd, tag } }) => ({ pid, argv, cwd, tag })),
  }

  readonly files: SandboxInside['files'] = {
    stat: async ({ path }) => this.#facts(path),
    list: async ({ path }) =>
      [...this.contents.keys()].filter((one) => one.startsWith(path)).map((one) => this.#facts(one)),
    makeDirectory: async ({ path }) => ({ isNew: !this.contents.has(path), facts: facts(path, Buffer.alloc(0)) }),
    rename: async ({ destination }) => facts(destination, Buffer.alloc(0)),
    remove: async ({ path }) => void this.contents.delete(path),
    read: async ({ path }) => {
      const content = this.contents.get(path) ?? this.#missing(path)
      return { status: 200, headers: { 'content-length': String(content.length) }, body: Readable.from([content]) }
    },
    write: async ({ path, metadata }, body) => {
      const chunks: Buffer[] = []
      for await (const chunk of body) chunks.push(chunk as Buffer)
      this.contents.set(path, Buffer.concat(chunks))
      return { ...this.#facts(path), metadata }
    },
  }

  readonly watches: SandboxInside['watches'] = {
    watch: async ({ path }) => ({ path, changes: Readable.from(this.changes) }),
  }

  async variables() {
    return { A: 'b' }
  }

  async usage() {
    return { cpuCount: 2, cpuUsedPct: 1.5, memTotal: 10, memUsed: 5, memCache: 0, diskUsed: 1, diskTotal: 9 }
  }

  /** Lets a process write an item. */
  emit(pid: number, item: ProcessItem): void {
    const process = this.started.find((one) => one.pid === pid)
    process?.items.push(item)
    for (const go of process?.waiting.splice(0) ?? []) go()
  }

  async *#follow(process: FakeProcess, signal: AbortSignal): AsyncGenerator<ProcessItem> {
    let isOver = false
    try {
      for (let at = 0; !isOver; at += 1) {
        while (process.items[at] === undefined) {
          await new Promise<void>((resolve, reject) => {
            process.waiting.push(resolve)
            signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          })
        }
        const item = process.items[at] as ProcessItem
        isOver = item.type === 'end'
        yield item
      }
    } finally {
      if (!isOver) this.left = true
    }
  }

  #found(process: FakeProcess): FoundProcess {
    const last = process.items.at(-1)
    return {
      pid: process.pid,
      isTerminal: process.start.terminal !== null,
      end: last?.type === 'end' ? last.end : null,
      follow: (signal) => this.#follow(process, signal),
      write: async (data) => {
        if (!process.open) return 'closed'
        process.input.push(data)
        return 'done'
      },
      closeInput: async () => {
        process.open = false
        return 'done'
      },
      signal: async (signal) => {
        this.emit(process.pid, { type: 'end', end: { exitCode: null, signal, timedOut: false } })
        return 'done'
      },
      resize: async () => 'done',
    }
  }

  #facts(path: string): FileFacts {
    return facts(path, this.contents.get(path) ?? this.#missing(path))
  }

  #missing(path: string): never {
    throw new ConnectError('not_found', `path '${path}' does not exist`)
  }
}

function facts(path: string, content: Buffer): FileFacts {
  return {
    path,
    kind: 'file',
    sizeBytes: content.length,
    mode: 0o644,
    permissions: 'rw-r--r--',
    owner: 'user',
    group: 'user',
    modifiedAt: new Date(0),
    target: null,
    metadata: null,
  }
}
