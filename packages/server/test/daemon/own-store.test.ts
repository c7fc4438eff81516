import { copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { memoryDir } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { BuildPaths } from '../../src/builds/paths.ts'
import { openOwnStore } from '../../src/daemon/open-own-store.ts'
import { parseConfig } from '../../src/foundation/config/config.ts'
import { readStoreId } from '../../src/foundation/config/store-file.ts'
import { storeIdOf } from '../../src/foundation/store/store-id.ts'
import { exportStore, importStore } from '../../src/foundation/store/transfer/transfer.ts'
import { type Cluster, hasPostgres, startCluster } from '../support/postgres-cluster.ts'
import { keepingLog, startTestServer, type TestServer } from '../support/start-test-server.ts'
import { newStateDir, onPostgres, tamper } from '../support/test-store.ts'

const storeFiles = ['holt.db', 'holt.db-wal', 'holt.db-shm']

async function belongingsOf(engine: FakeEngine): Promise<readonly string[]> {
  const checkpoints = (await engine.ability('checkpoints')?.list()) ?? []
  const images = (await engine.ability('images')?.list()) ?? []
  return [...checkpoints.map(({ checkpointId }) => checkpointId), ...images.map(({ digest }) => digest)].sort()
}

/**
 * A server that has ended, with a paused runtime and a context of a build in its state directory.
 */
async function endedServer(): Promise<{ server: TestServer; id: string; belongings: readonly string[] }> {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  expect((await server.ask('POST', `/v1/agents/runtime/${id}/pause`)).status).toBe(200)
  await server.close()
  return { server, id, belongings: await belongingsOf(server.engine) }
}

/** Moves the files of a server's store away. */
async function moveStoreAway({ stateDir }: TestServer): Promise<string> {
  const aside = await mkdtemp(join(memoryDir(), 'holt-aside-'))
  onTestFinished(() => rm(aside, { recursive: true, force: true }))
  for (const name of await readdir(stateDir))
    if (storeFiles.includes(name)) await rename(join(stateDir, name), join(aside, name))
  return aside
}

async function putStore(from: string, to: string): Promise<void> {
  for (const name of storeFiles) {
    await rm(join(to, name), { force: true })
    await copyFile(join(from, name), join(to, name)).catch(() => undefined) // A store that was closed has one file.
  }
}

describe.skipIf(onPostgres)('a store that does not match the state directory is refused', () => {
  test('if it is empty: nothing changes, and the right store starts as before', async () => {
    const { server, id, belongings } = await endedServer()
    const { stateDir, engine } = server
    const aside = await moveStoreAway(server)
    await expect(server.restart()).rejects.toThrow(/is empty, and does not list files of .*: \d checkpoints, 1 images/)
    expect((await readdir(stateDir)).filter((name) => storeFiles.includes(name))).toEqual([])
    expect(await belongingsOf(engine)).toEqual(belongings)
    await putStore(aside, stateDir)
    const { ask } = await server.restart()
    expect(await belongingsOf(engine)).toEqual(belongings)
    expect((await ask('POST', `/v1/agents/runtime/${id}/resume`)).status).toBe(200)
  })

  test('if the state directory has only a build context', async () => {
    const { server } = await endedServer()
    const { contexts } = new BuildPaths(server.stateDir)
    await mkdir(join(contexts, 'bc1.tar'), { recursive: true })
    await moveStoreAway(server)
    await expect(server.restart({ engine: new FakeEngine() })).rejects.toThrow('1 files of builds')
    expect(await readdir(contexts)).toEqual(['bc1.tar'])
  })

  test('if it belongs to another installation, until it is adopted', async () => {
    const { server, belongings } = await endedServer()
    const other = await endedServer()
    await putStore(other.server.stateDir, server.stateDir)
    await expect(server.restart()).rejects.toThrow('is not the one of this state directory')
    expect(await belongingsOf(server.engine)).toEqual(belongings)
    const adopting = await server.restart({ config: { adoptStore: true } as never })
    await adopting.close()
    const kept = await belongingsOf(server.engine)
    expect(belongings.filter((name) => kept.includes(name) && name.startsWith('cp'))).toEqual([])
    // It is this directory's now.
    await (await server.restart()).close()
  })

  test('if it belongs to an older installation and the directory has no id', async () => {
    const { server, belongings } = await endedServer()
    const other = await endedServer()
    await putStore(other.server.stateDir, server.stateDir)
    await tamper(server.stateDir, 'DELETE FROM store_facts')
    await rm(join(server.stateDir, 'store.json'))
    await expect(server.restart()).rejects.toThrow('is not the one of this state directory')
    expect(await belongingsOf(server.engine)).toEqual(belongings)
  })
})

test.each([
  ['an earlier version, which gave none', true, true],
  ['an earlier version, taken in again', true, false],
  ['a state directory whose file is lost', false, true],
])('a store that matches the directory gets its id: %s', async (_, withoutRow, withoutFile) => {
  const { server, id, belongings } = await endedServer()
  if (withoutRow) await tamper(server.stateDir, 'DELETE FROM store_facts')
  if (withoutFile) await rm(join(server.stateDir, 'store.json'))
  const again = await server.restart()
  expect(await belongingsOf(server.engine)).toEqual(belongings)
  // From now on the ids say it, and no row has to.
  await again.close()
  await tamper(
    server.stateDir,
    'UPDATE templates SET checkpoint_id = NULL; UPDATE runtimes SET pause_checkpoint_id = NULL',
  )
  const { ask } = await again.restart()
  expect((await ask('GET', `/v1/agents/runtime/${id}`)).status).toBe(200)
})

describe.skipIf(onPostgres || !hasPostgres())('during a move to PostgreSQL', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  }, 120_000)
  afterAll(() => cluster[Symbol.asyncDispose]())

  test('a start before the import is refused and writes nothing; a start after it has all rows', async () => {
    const { server, id, belongings } = await endedServer()
    const { stateDir, engine } = server
    await cluster.run('CREATE DATABASE there')
    const databaseUrl = cluster.url('there')
    const there = { config: { databaseUrl } as never }
    await expect(server.restart(there)).rejects.toThrow('in the database of HOLT_DATABASE_URL is empty')
    expect(await belongingsOf(engine)).toEqual(belongings)
    const dump = async function* () {
      for await (const line of exportStore({ type: 'sqlite', path: join(stateDir, 'holt.db') }, 0))
        yield Buffer.from(line)
    }
    await importStore({ type: 'postgres', url: databaseUrl }, { stateDir, dump: dump() })
    const { ask } = await server.restart(there)
    expect(await belongingsOf(engine)).toEqual(belongings)
    expect((await ask('POST', `/v1/agents/runtime/${id}/resume`)).status).toBe(200)
  })
})

test.skipIf(!hasPostgres())('hosts of a fleet that start at the same moment give their store one id', async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  const open = async () => {
    const config = parseConfig({
      ...{ HOLT_FLEET: '1', HOLT_DATABASE_URL: cluster.url('postgres'), HOLT_STATE_DIR: await newStateDir() },
      ...{ HOLT_PEER_ADDRESS: '127.0.0.1', HOLT_OBJECT_STORE: 'file:///srv/objects' },
    })
    const store = await openOwnStore({ config, engine: new FakeEngine(), log: keepingLog().log })
    onTestFinished(() => store.close())
    return [await storeIdOf(store.db), await readStoreId(config.stateDir)]
  }
  const ids = await Promise.all(Array.from({ length: 6 }, open))
  expect(new Set(ids.flat()).size).toBe(1)
})
