import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../../src/index.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

/** Collects garbage, and lets the finalizers run. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 10; round++) {
    collect()
    await setImmediate()
  }
}

test('an archive is whole, also if garbage is collected before it is read', async () => {
  const runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create()
  await runtime.files.write('/tree/file', 'x')
  service.archive = Buffer.alloc(1 << 20, 'x')
  const archive = await runtime.files.archive('/tree')
  await collectGarbage()
  expect((await buffer(archive)).equals(service.archive)).toBe(true)
})
