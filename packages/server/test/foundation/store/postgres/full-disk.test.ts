import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { aloneWith } from '../../../../src/foundation/store/alone.ts'
import { isDiskFull } from '../../../../src/foundation/store/disk-full.ts'
import { openPostgresStore } from '../../../../src/foundation/store/postgres/postgres-store.ts'
import { ensureDefaultProject } from '../../../../src/tenancy/keys/bootstrap.ts'
import { mountFullDisk } from '../../../support/full-disk.ts'
import { hasPostgres, startCluster } from '../../../support/postgres-cluster.ts'

const diskMiB = 64

test.skipIf(!hasPostgres() || process.getuid?.() !== 0)(
  'PostgreSQL with a full disk refuses writes, continues reads, and recovers with room',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holt-test-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    await chmod(directory, 0o755)
    const disk = join(directory, 'disk')
    const cluster = await startCluster()
    const url = cluster.url('holt')
    const open = () => openPostgresStore({ url, onTaken: () => undefined })
    await mountFullDisk(disk, `size=${diskMiB}m,uid=65534,gid=65534,mode=700`, async () => {
      onTestFinished(() => cluster[Symbol.asyncDispose]())
      await cluster.run(`CREATE TABLESPACE small LOCATION '${disk}'`)
      await cluster.run('CREATE DATABASE holt TABLESPACE small')
      await (await open()).close()
      await writeFile(join(disk, 'filling'), Buffer.alloc(diskMiB * 2 ** 20)).catch(() => undefined) // It has no room for all of it.
    })
    await rm(join(disk, 'rest'))
    const store = await open()
    onTestFinished(() => store.close())
    const projectId = await ensureDefaultProject(store, 1)
    const write = () =>
      store.change(aloneWith(projectId), async (changes) => {
        const event = { event_id: makeId('event'), project_id: projectId, type: 'x', subject_id: 'x', at: 1 }
        await changes
          .insertInto('events')
          .values({ ...event, data_json: JSON.stringify('x'.repeat(2_000)) })
          .execute()
      })
    const written = async () => (await store.db.selectFrom('events').select('seq').execute()).length
    const fill = async () => {
      for (let count = 0; count < 4_000; count += 1) await write()
    }
    await expect(fill()).rejects.toSatisfy(isDiskFull)
    const before = await written()
    await expect(write()).rejects.toSatisfy(isDiskFull)
    expect(await written()).toBe(before)
    await rm(join(disk, 'filling'))
    await write()
    expect(await written()).toBe(before + 1)
  },
)
