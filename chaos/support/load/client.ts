import type { Holt } from '@holt/sdk'
import type { Stopwatch } from './stopwatch.ts'

/** The inputs of one client. */
export interface ClientParts {
  readonly holt: Holt
  readonly isolation: 'gvisor' | 'container'
  readonly watch: Stopwatch
  /** Ends the work. The client first finishes with its current runtime. */
  readonly over: AbortSignal
}

/**
 * Creates, runs, writes, copies, reads and deletes repeatedly until it is over. Data that is read
 * must equal the data that was written.
 */
export async function work({ holt, isolation, watch, over }: ClientParts): Promise<void> {
  for (let round = 0; !over.aborted; round += 1) {
    const runtime = await watch.time('create', () => holt.runtimes.create({ isolation }))
    if (runtime === null) continue
    const content = `${runtime.runtime_id} ${round}`
    await watch.time('run', async () => {
      const { stdout, exit_code } = await runtime.commands.run(`printf %s '${content}' > /tmp/a; cat /tmp/a; exit 3`)
      expectSame([stdout, exit_code], [content, 3])
    })
    await watch.time('write', () => runtime.files.write('/tmp/tree/b', content))
    await watch.time('copy', () => runtime.files.copy('/tmp/tree', '/tmp/copy', { recursive: true }))
    await watch.time('read', async () => expectSame(await runtime.files.readText('/tmp/copy/b'), content))
    await watch.time('list', async () => {
      const found: string[] = []
      for await (const { runtime_id } of holt.runtimes.list({ state: 'running' })) found.push(runtime_id)
      if (!found.includes(runtime.runtime_id)) throw new Error('the runtime is not in the list')
    })
    await watch.time('delete', () => runtime.delete())
  }
}

function expectSame(value: unknown, expected: unknown): void {
  if (JSON.stringify(value) !== JSON.stringify(expected))
    throw new Error(`${JSON.stringify(value)} instead of ${JSON.stringify(expected)}`)
}
