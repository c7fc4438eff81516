import { connect } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { runConformance } from '@holt/engine-testkit/conformance'
import { afterAll, describe, expect, test } from 'vitest'
import { prepareEngine, VERB_TIMEOUT_MS } from './support/engine-under-test.ts'
import { missing, tarOf } from './support/test-machine.ts'

for (const [isolation, runner] of [
  ['gvisor', 'runsc'],
  ['container', 'runc'],
] as const) {
  const reason = await missing('root', 'go', runner)
  describe.skipIf(reason !== null)(`host engine, ${isolation} (${reason ?? 'ready'})`, async () => {
    if (reason !== null) {
      test('cannot run here')
      return
    }
    const [under, other] = await Promise.all([prepareEngine(), prepareEngine()])
    runConformance({
      name: 'host engine',
      isolation,
      open: under.open,
      openOther: other.open,
      dialEgress: (_, id) => connectTo(join(under.options.runDir, id, 'egress.sock')),
      imageTar: () => tarOf(under.tree),
      size: { cpu: 1, memoryMiB: 256, diskMiB: 64 },
      verbTimeoutMs: VERB_TIMEOUT_MS,
    })
    test('has left nothing behind', async () => {
      expect(await under.leaks()).toEqual([])
      expect(await other.leaks()).toEqual([])
    })
    afterAll(async () => {
      await under[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
    })
  })
}

/** The guest dials the same socket through its mount. */
function connectTo(path: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket))
    socket.once('error', reject)
  })
}
