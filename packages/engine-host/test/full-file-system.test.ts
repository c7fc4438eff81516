import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type EngineUnderTest,
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')

/** Enough for what the engine keeps free and some runtimes, and soon used up. */
const small = { sizeMiB: 1024, inodes: 512 }

/** A file system with nothing but the state directory on it. */
interface SmallFileSystem extends Disposable {
  fill(what: 'blocks' | 'inodes'): void
  /** Gives back what was taken. */
  empty(): void
}

function mountSmall({ options: { stateDir } }: EngineUnderTest): SmallFileSystem {
  const image = `${stateDir}.img`
  mkdirSync(stateDir)
  writeFileSync(image, '')
  truncateSync(image, small.sizeMiB * 2 ** 20)
  execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', '-N', String(small.inodes), image])
  execFileSync('mount', ['-o', 'loop', image, stateDir])
  const taken = join(stateDir, '.taken')
  mkdirSync(taken)
  // The engine makes spare disks meanwhile: what is free is asked until nothing is.
  const fills = {
    blocks: (round: number) => {
      const { bavail, bsize } = statfsSync(stateDir)
      writeFileSync(join(taken, String(round)), Buffer.alloc(Math.min(bavail * bsize, 2 ** 20) + 1))
    },
    inodes: (round: number) => writeFileSync(join(taken, String(round)), ''),
  }
  const takeMost = () => {
    const { bavail, bsize } = statfsSync(stateDir)
    execFileSync('fallocate', ['-l', String(bavail * bsize - 2 ** 23), join(taken, 'room')])
  }
  return {
    fill: (what) => {
      if (what === 'blocks') takeMost()
      const takeRest = () => {
        for (let round = 0; round <= small.inodes; round += 1) fills[what](round)
      }
      expect(takeRest).toThrow('ENOSPC')
    },
    empty: () => rmSync(taken, { recursive: true }),
    [Symbol.dispose]: () => {
      execFileSync('umount', [stateDir])
      rmSync(image)
    },
  }
}

test
  .skipIf(reason !== null)
  .each(
    (['gvisor', 'container'] as const).flatMap((isolation) =>
      (['blocks', 'inodes'] as const).map((what) => ({ isolation, what })),
    ),
  )(
  `where no $what are left a $isolation goes on, none is made, one goes, and the next engine finds the rest (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 2 },
  async ({ isolation, what }) => {
    await using under = await prepareEngine()
    using files = mountSmall(under)
    const engine = await under.open()
    const image = await importImage(engine, under)
    const [kept, gone, refused] = [
      smallSpec(isolation, image),
      smallSpec(isolation, image),
      smallSpec(isolation, image),
    ]
    await startGuest(engine, gone)
    const guest = await startGuest(engine, kept)
    files.fill(what)
    await expect(engine.ensure(refused, timeout())).rejects.toMatchObject({ kind: 'no_space' })
    expect(await engine.inspect(refused.id)).toBeNull()
    expect((await runCommand(guest, 'echo', 'here')).output).toBe('here\n')
    await engine.remove(gone.id, timeout())
    await engine.close()
    const next = await under.open()
    expect(await next.inspect(kept.id)).toMatchObject({ state: 'running' })
    expect(await next.inspect(gone.id)).toBeNull()
    expect((await runCommand(await startGuest(next, kept), 'echo', 'here')).output).toBe('here\n')
    files.empty()
    await startGuest(next, refused)
    for (const { id } of [kept, refused]) await next.remove(id, timeout())
    await next.close()
    expect(await under.leaks()).toEqual([])
  },
)
