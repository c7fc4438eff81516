import type { CheckpointInfo } from '@holt/engine'
import type { FakeEngine } from '@holt/engine-testkit/fake'
import { expect } from 'vitest'
import { ended, FakeBuilder, importImage, startStep } from './fake-builder.ts'
import type { TestServer } from './start-test-server.ts'

/** The size of the templates of `buildTemplate`, as a build and a create take it. */
export const builtSize = { cpu: 1, memory: '256MiB', disk: '1GiB' }

/** An application that runs until its runtime ends. */
export const application = { start_cmd: 'sleep', ready_cmd: 'true' }

/**
 * Returns a builder whose builds with a start command end with a checkpoint, of a runtime in which
 * nothing runs. With `always`, all builds do, as in earlier versions of Holt.
 */
export function checkpointing({ always = false }: { readonly always?: boolean } = {}): FakeBuilder {
  const builder = new FakeBuilder()
  builder.script = async ({ host, request }) => {
    const imageDigest = await importImage(host, JSON.stringify(request.source))
    if (request.startCmd === null && !always) return { imageDigest }
    const { cpu, memoryMiB, diskMiB } = request
    const { runtime } = await startStep(host, imageDigest, { cpu, memoryMiB, diskMiB })
    const checkpoints = host.engine.ability('checkpoints')
    if (checkpoints === null) throw new Error('no checkpoints')
    const checkpoint = await checkpoints.take(runtime.id, await host.newCheckpointId(), AbortSignal.timeout(5000))
    await host.cache.put(`end of ${JSON.stringify(request.source)}`, {
      type: 'checkpoint',
      checkpointId: checkpoint.checkpointId,
      imageDigest,
      sizeBytes: 1,
      facts: {},
    })
    return { imageDigest, checkpoint }
  }
  return builder
}

/** Builds a template with an application, unless `more` says otherwise. */
export async function buildTemplate(server: TestServer, name: string, more: object = application): Promise<void> {
  const json = { name, dockerfile: `FROM ${name}`, ...builtSize, ...more }
  const { status, text, json: started } = await server.ask('POST', '/v1/agents/template/build', { json })
  expect(status, text).toBe(202)
  expect(await ended(server, started.build_id)).toMatchObject({ status: 'ready' })
}

/** Makes a runtime of a built template, and returns true if it was restored. */
export async function isRestored(server: TestServer, template: string, more: object = {}): Promise<boolean> {
  const id = await server.makeRuntime({ template, ...builtSize, ...more })
  return (await server.engine.inspect(id))?.restored === true
}

/** Returns the checkpoints of an engine. */
export async function checkpointsOf(engine: FakeEngine): Promise<readonly CheckpointInfo[]> {
  return (await engine.ability('checkpoints')?.list()) ?? []
}
