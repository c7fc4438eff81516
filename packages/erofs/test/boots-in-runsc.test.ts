import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Entry, writeImage } from '@holt/erofs'
import { buildOnce, requires } from '@holt/testkit'
import { describe, expect, test } from 'vitest'
import { directory, file, hardlink, pattern, streamOf, symlink } from './support/entries.ts'
import { runInRunsc } from './support/run-in-runsc.ts'
import { scratch } from './support/scratch.ts'

const runsc = requires('runsc', 'go', 'root')

/** The output of the probe for one path. */
interface Seen {
  readonly mode: number
  readonly uid: number
  readonly mtimeSecs: number
  readonly size: number
  readonly target: string
  readonly sha256: string
  readonly error: string
}

/**
 * Builds the probe, puts it into an image beside the entries, and answers what it sees below `/t`.
 */
async function seenInRunsc(entries: readonly Entry[]): Promise<Map<string, Seen>> {
  await using dir = await scratch()
  const program = await buildOnce(fileURLToPath(new URL('support/probe', import.meta.url)))
  const image = `${dir.path}/image`
  const probe = file('bin/probe', readFileSync(program), { mode: 0o755 })
  await writeImage(streamOf([probe, directory('proc'), directory('t'), ...entries]), image)
  const lines = (await runInRunsc(image, dir.path, ['/bin/probe', '/t'])).trim().split('\n')
  const decoded = lines.map((line) => JSON.parse(line) as Seen & { path: string })
  return new Map(decoded.map((seen) => [Buffer.from(seen.path, 'hex').toString('latin1'), seen]))
}

describe.skipIf(runsc.skip)(`a program in runsc${runsc.note}`, () => {
  test('sees every file, link and name completely', async () => {
    const sizes = [0, 1, 4095, 4096, 4097, 70_000, (1 << 20) + 1]
    const names = Array.from({ length: 3000 }, (_, index) => `n${index}-${'x'.repeat(index % 100)}`)
    const targets = [1, 1000, 4032, 4033, 4095]
    const seen = await seenInRunsc([
      ...sizes.map((size) => file(`t/f${size}`, pattern(size), { uid: 70_000, mode: 0o640 })),
      ...names.map((name) => file(`t/big/${name}`, name)),
      ...targets.map((length) => symlink(`t/l${length}`, 'x'.repeat(length))),
      hardlink('t/hard', 't/f4097'),
      file(Buffer.from('t/\xff\xfe', 'latin1'), 'not UTF-8'),
    ])
    expect([...seen.values()].filter(({ error }) => error !== '')).toEqual([])
    for (const size of sizes) {
      const sha256 = createHash('sha256').update(pattern(size)).digest('hex')
      const expected = { mode: 0o100640, uid: 70_000, size, sha256, mtimeSecs: 1_700_000_000 }
      expect(seen.get(`/t/f${size}`)).toMatchObject(expected)
    }
    for (const name of names) expect(seen.get(`/t/big/${name}`)?.size).toBe(name.length)
    for (const length of targets) {
      expect(seen.get(`/t/l${length}`)?.target).toBe(Buffer.from('x'.repeat(length)).toString('hex'))
    }
    expect(seen.get('/t/hard')?.sha256).toBe(seen.get('/t/f4097')?.sha256)
    expect(seen.get('/t/\xff\xfe')?.size).toBe(9)
    expect(seen.size).toBe(1 + sizes.length + 1 + names.length + targets.length + 2)
  })

  test('sees nothing after an inode with an extended attribute, so they must be dropped', async () => {
    const xattrs = new Map([['user.x', Buffer.from('1')]])
    const seen = await seenInRunsc([file('t/with', '1', { xattrs }), file('t/without', '1')])
    expect(seen.get('/t/with')?.error).toContain('not supported')
    expect(seen.get('/t/without')?.error).toBe('')
  })
})
