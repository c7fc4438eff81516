import { shareOf } from '@holt/testkit'
import { beforeAll, expect, it } from 'vitest'
import { type Answer, anyFailure, call, wireRequest } from '../e2e/support/api.ts'
import { describeClasses } from '../e2e/support/classes.ts'
import { service } from '../e2e/support/facts.ts'
import { open } from '../e2e/support/http.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { short } from './support/length.ts'
import { withstand } from './support/withstand.ts'

/** How deep a tree is that no program expects. */
const depth = short(3_000, 100_000)

/** Any operation on it has an end before this. */
const endMs = short(100_000, 900_000)

/**
 * The bytes of an archive after which a reader stops. The names of a tree 100,000 deep have 10 GB
 * together, since each is as long as its path.
 */
const enoughBytes = 2 ** 30

// A path of so many names exceeds the limit, so each directory is made from within its parent.
const makeDeep = `
import os, sys
os.makedirs('/srv/deep', exist_ok=True)
os.chdir('/srv/deep')
for n in range(int(sys.argv[1])):
    os.mkdir('d'); os.chdir('d')
    if n % 1000 == 0: open('needle', 'w').write('needle')
print('true')`

const operations = {
  'is listed': (runtime: TestRuntime) =>
    runtime.call('GET', '/files/list', { query: { path: '/srv/deep', depth: 64 }, timeoutMs: endMs }),
  'is copied': (runtime: TestRuntime) =>
    runtime.call('POST', '/files/copy', {
      json: { source: '/srv/deep', destination: '/srv/copy', recursive: true },
      timeoutMs: endMs,
    }),
  'is searched': (runtime: TestRuntime) =>
    runtime.call('POST', '/files/search', {
      json: { path: '/srv/deep', glob: '**/needle', max_depth: 256 },
      timeoutMs: endMs,
    }),
  'is archived': archive,
  'is removed': (runtime: TestRuntime) =>
    runtime.call('POST', '/files/remove', { json: { path: '/srv/deep', recursive: true }, timeoutMs: endMs }),
} as const

/** Reads an archive to its end, or disconnects after `enoughBytes`. Keeps none of its bytes. */
async function archive(runtime: TestRuntime): Promise<Answer> {
  const query = { path: '/srv/deep' }
  const path = `${runtime.path}/files/archive`
  const answer = await open(service.url, wireRequest('GET', path, { query, timeoutMs: endMs }))
  const kept: Buffer[] = []
  let read = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    if (answer.statusCode !== 200) kept.push(piece)
    read += piece.length
    if (read >= enoughBytes) break
  }
  const bytes = Buffer.concat(kept)
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes, text: String(bytes) }
}

describeClasses(`a tree that is ${depth} deep`, (isolation) => {
  let bystander: TestRuntime
  let runtime: TestRuntime
  beforeAll(async () => {
    bystander = await createRuntime({ isolation })
    runtime = await createRuntime({ isolation, memory: '2GiB' })
    await runtime.python(makeDeep, [String(depth)], { timeout_secs: endMs / 1000 })
  }, endMs + 60_000)

  // An impossible operation is refused and leaves nothing half done. The runtime continues.
  it.each(shareOf(Object.entries(operations), 2 / 5, 'requests for deep trees'))(
    '%s or refused, and delays nobody',
    async (what, operate) => {
      const name = `a tree ${depth} deep ${what} [${isolation}]`
      await withstand({ name, bystander, growthMiB: 128 }, async () => {
        const answer = await operate(runtime)
        if (answer.status >= 400) return anyFailure(answer).code
        return answer.status
      })
      expect((await runtime.run('echo on')).stdout).toBe('on\n')
      expect((await call('GET', runtime.path)).status).toBe(200)
    },
    endMs + 60_000,
  )
})
