import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ImageDigest } from '@holt/engine'
import { type BuildStatus, makeId } from '@holt/protocol'
import type { TestServer } from './start-test-server.ts'
import { openTestStore } from './test-store.ts'

/** A build that its service left when it was killed. */
export interface KilledBuild {
  readonly buildId: string
  readonly status: BuildStatus
  readonly imageDigest: ImageDigest
}

/**
 * Leaves the database and the host of a server that has ended as a kill in the middle of a build
 * would.
 */
export async function leaveKilledBuild({ engine, stateDir }: TestServer, killed: KilledBuild): Promise<void> {
  const runtimeId = makeId('runtime')
  const checkpointId = `cp${'a'.repeat(20)}`
  await writeRows(stateDir, { ...killed, runtimeId, checkpointId })
  const spec = {
    isolation: 'gvisor',
    imageDigest: killed.imageDigest,
    cpu: 1,
    memoryMiB: 1,
    diskMiB: 1,
    pidsMax: 1,
    checkpointId: null,
  } as const
  const signal = AbortSignal.timeout(5000)
  await engine.ensure({ ...spec, id: runtimeId }, signal)
  const seed = makeId('runtime')
  await engine.ensure({ ...spec, id: seed }, signal)
  await engine.ability('checkpoints')?.take(seed, checkpointId, signal)
  await engine.remove(seed, signal)
  for (const dir of ['work', 'contexts', 'mounts']) {
    const path = join(stateDir, 'builds', dir)
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'half.tar.part'), 'x')
  }
}

async function writeRows(
  stateDir: string,
  { buildId, status, runtimeId, checkpointId }: KilledBuild & { runtimeId: string; checkpointId: string },
): Promise<void> {
  const store = await openTestStore(stateDir)
  const { project_id } = await store.db.selectFrom('projects').selectAll().executeTakeFirstOrThrow()
  const host = await store.db.selectFrom('hosts').selectAll().executeTakeFirstOrThrow()
  const owner = { host_id: host.host_id, host_epoch: host.epoch }
  const step = { step: 1, text: 'RUN x', stage: null, line: 1, duration_ms: null }
  const steps = ['done', 'running', 'waiting'].map((state) => ({ ...step, state }))
  const template_id = makeId('template')
  const common = { project_id, template_id, name: 'app', tag: 'latest', created_at: 1 }
  const size = { cpu: 1, memory_mib: 1, disk_mib: 1, env_json: '{}', user: 'root', workdir: '/', facts_json: '{}' }
  await store.db
    .insertInto('templates')
    .values({ ...common, ...size, kind: 'custom', state: 'building', source: 'x', updated_at: 1, revision: 1 })
    .execute()
  const text = { warnings_json: '[]', ignored_json: '[]', steps_json: JSON.stringify(steps) }
  await store.db
    .insertInto('builds')
    .values({ ...common, ...text, build_id: buildId, status, log_cursor: 0, log_bytes: 0, started_at: 1, ...owner })
    .execute()
  const noted = { build_id: buildId, memory_mib: 4096, ...owner }
  await store.db
    .insertInto('build_resources')
    .values([
      { ...noted, resource_id: runtimeId, kind: 'runtime' },
      { ...noted, resource_id: checkpointId, kind: 'checkpoint' },
      { ...noted, resource_id: makeId('runtime'), kind: 'runtime' },
    ])
    .execute()
  await store.close()
}
