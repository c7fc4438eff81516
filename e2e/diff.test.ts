import { readFileSync } from 'node:fs'
import { type DiffEntry, type ErrorCode, FileDiff, type Snapshot } from '@holt/protocol'
import { testSeed } from '@holt/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { crash, restart } from './support/crash.ts'
import { TreeCopy } from './support/patched-tree.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { deleteSnapshots } from './support/test-snapshots.ts'

const program = readFileSync(new URL('./probe/change_tree.py', import.meta.url), 'utf8')
const root = '/srv/tree'
const timeoutMs = 240_000

interface Described {
  readonly type: number
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly content: string
}
type Tree = Readonly<Record<string, Described>>

function tree(runtime: TestRuntime, verb: 'make' | 'change' | 'describe', seed = ''): Promise<Tree> {
  return runtime.python<Tree>(program, [verb, root, seed])
}

async function diff(runtime: TestRuntime, query: Record<string, string | number | boolean> = {}): Promise<FileDiff> {
  return success(await runtime.call('GET', '/diff', { query: { path: root, ...query } }), 200, FileDiff)
}

/** Returns all pages of a diff as one. */
async function wholeDiff(runtime: TestRuntime, query: Record<string, string | number | boolean>): Promise<FileDiff> {
  let page = await diff(runtime, query)
  const data = [...page.data]
  while (page.next_cursor !== null) {
    page = await diff(runtime, { ...query, cursor: page.next_cursor })
    data.push(...page.data)
  }
  return { ...page, data }
}

const bytesOf = ({ path, path_base64 }: DiffEntry) => path_base64 ?? Buffer.from(path).toString('base64')

/** Returns the changes of a diff by path, and of two descriptions of a tree. */
function kinds({ data }: FileDiff): Record<string, string> {
  return Object.fromEntries(data.map((entry) => [bytesOf(entry), entry.change]))
}

function expected(before: Tree, after: Tree): Record<string, string> {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)])
  const all = [...paths].map((path): [string, string | null] => [path, changeOf(before[path], after[path])])
  const compare = ([a]: [string, unknown], [b]: [string, unknown]) =>
    Buffer.compare(Buffer.from(a, 'base64'), Buffer.from(b, 'base64'))
  return Object.fromEntries(all.filter((one): one is [string, string] => one[1] !== null).sort(compare))
}

function changeOf(before: Described | undefined, after: Described | undefined): string | null {
  if (before === undefined) return 'added'
  if (after === undefined) return 'removed'
  if (before.type !== after.type) return 'type_changed'
  if (before.content !== after.content) return 'modified'
  const isSame = before.mode === after.mode && before.uid === after.uid && before.gid === after.gid
  return isSame ? null : 'attributes'
}

const relativePath = (entry: DiffEntry) => Buffer.from(bytesOf(entry), 'base64').subarray(root.length + 1)

/**
 * Expects that a patch turns the tree before into the tree after, but for files that it cannot
 * show.
 */
async function expectPatched(before: TreeCopy, after: TreeCopy, { data, patch }: FileDiff): Promise<void> {
  // The patch cannot remove these entries, and others may come in their place.
  const isLeft = ({ change, patch, previous_type }: DiffEntry) =>
    change === 'removed'
      ? patch !== 'shown'
      : change === 'type_changed' && (patch !== 'shown' || previous_type === 'fifo')
  const stay = data.filter(isLeft)
  await before.remove(stay.map((entry) => relativePath(entry)))
  await before.apply(patch ?? '')
  const left = data.filter(({ patch }) => patch === 'binary' || patch === 'not_kept').map((entry) => bytesOf(entry))
  const hidden = left.map((path) =>
    Buffer.from(path, 'base64')
      .subarray(root.length + 1)
      .toString('latin1'),
  )
  const [got, wanted] = [await before.files(), await after.files()]
  for (const path of hidden) for (const files of [got, wanted]) files.delete(path)
  expect(Object.fromEntries(got)).toEqual(Object.fromEntries(wanted))
}

describeClasses('a diff', (isolation) => {
  const seed = `${testSeed()}-${isolation}`
  let source: TestRuntime
  let made: Tree
  let snapshot: Snapshot
  let before: TestRuntime
  const runtimes: TestRuntime[] = []
  const create = async (more: object = {}) => {
    const runtime = await createRuntime({ isolation, ...more })
    runtimes.push(runtime)
    return runtime
  }
  beforeAll(async () => {
    source = await create()
    made = await tree(source, 'make', seed)
    snapshot = await source.snapshot({ kind: 'filesystem', name: `before-${isolation}` })
    before = await create({ snapshot: snapshot.snapshot_id })
  }, timeoutMs)
  afterAll(async () => {
    for (const runtime of runtimes) await runtime.delete()
    await deleteSnapshots(snapshot.snapshot_id)
  })

  it('is empty for a runtime in which nothing has changed', async () => {
    const runtime = await create()
    const { data, since, truncated } = await diff(runtime, { path: '/' })
    expect(data).toEqual([])
    expect(since).toMatchObject({ type: 'template', name: runtime.data.template.name })
    expect(truncated).toBe(false)
    const fromSnapshot = await diff(before, { path: '/' })
    expect(fromSnapshot.since).toMatchObject({ type: 'snapshot', id: snapshot.snapshot_id })
    expect(fromSnapshot.data).toEqual([])
  })

  it.each([1, 2, 3])(
    'has every random change of files of the image, and a patch for git (%i)',
    async (round) => {
      const runtime = await create({ snapshot: snapshot.snapshot_id })
      await using old = await TreeCopy.of(runtime, root)
      const changed = await tree(runtime, 'change', `${seed}-${round}`)
      const found = await diff(runtime, { patch: true })
      expect(found.data).not.toEqual([])
      expect(kinds(found)).toEqual(expected(made, changed))
      expect(Object.keys(kinds(found))).toEqual(Object.keys(expected(made, changed)))
      await using now = await TreeCopy.of(runtime, root)
      await expectPatched(old, now, found)
      expect(kinds(await wholeDiff(runtime, { limit: 3 }))).toEqual(kinds(found))
    },
    timeoutMs,
  )

  it(
    'has every change since a snapshot of the same runtime',
    async () => {
      await using old = await TreeCopy.of(source, root)
      const changed = await tree(source, 'change', `${seed}-since`)
      const found = await diff(source, { patch: true, since: snapshot.name ?? '' })
      expect(kinds(found)).toEqual(expected(made, changed))
      expect(found.since).toMatchObject({ type: 'snapshot', id: snapshot.snapshot_id })
      await using now = await TreeCopy.of(source, root)
      await expectPatched(old, now, found)
      const sinceTemplate = await diff(source)
      expect(Object.values(kinds(sinceTemplate)).every((change) => change === 'added')).toBe(true)
      expect(sinceTemplate.data.length).toBe(Object.keys(changed).length + 1)
    },
    timeoutMs,
  )

  it(
    'finds changes in a system directory, and none of the guest or of mounts',
    async () => {
      const runtime = await create()
      await runtime.sh('echo extra >> /etc/hosts; echo x > /usr/bin/new; chmod 755 /usr/bin/new')
      const { data } = await diff(runtime, { path: '/' })
      expect(data.map(({ path, change }) => [path, change])).toEqual([
        ['/etc/hosts', expect.stringMatching(/added|modified/)],
        ['/usr/bin/new', 'added'],
      ])
      expect((await diff(runtime, { path: '/usr/bin/new', patch: true })).patch).toContain('+++ b/new\n')
      expect((await diff(runtime, { path: '/proc' })).data).toEqual([])
    },
    timeoutMs,
  )

  it(
    'finds a directory of the image that was renamed',
    async () => {
      const runtime = await create({ snapshot: snapshot.snapshot_id })
      const changed = await runtime.sh(
        `cp -a ${root} /srv/copy; mv ${root} /srv/moved || { rm -rf /srv/moved; cp -a ${root} /srv/moved; rm -r ${root}; }; ls -A /srv`,
      )
      expect(changed.split('\n')).toEqual(expect.arrayContaining(['copy', 'moved']))
      const { data } = await wholeDiff(runtime, { path: '/srv' })
      const below = (dir: string) => data.filter(({ path }) => path === dir || path.startsWith(`${dir}/`))
      const count = Object.keys(made).length + 1
      expect(below(root).map(({ change }) => change)).toEqual(Array(count).fill('removed'))
      expect(below('/srv/moved').map(({ change }) => change)).toEqual(Array(count).fill('added'))
      expect(below('/srv/copy').map(({ change }) => change)).toEqual(Array(count).fill('added'))
    },
    timeoutMs,
  )

  it(
    'answers for hostile content within its bounds',
    async () => {
      const runtime = await create()
      await runtime.sh(
        'mkdir /srv/h; cd /srv/h; truncate -s 1T sparse; ln -s /etc/shadow link; mkfifo fifo; ln -s loop loop; yes | head -c 3M > large',
      )
      const { data, patch } = await diff(runtime, { path: '/srv/h', patch: true })
      const shown = data.map(({ path, patch: part }) => [path, part])
      expect(shown).toEqual([
        ['/srv/h', 'not_in_git'],
        ['/srv/h/fifo', 'not_in_git'],
        ['/srv/h/large', 'too_large'],
        ['/srv/h/link', 'shown'],
        ['/srv/h/loop', 'shown'],
        ['/srv/h/sparse', 'too_large'],
      ])
      expect(patch).toContain('# sparse is too large and is not shown')
    },
    timeoutMs,
  )

  // The class container has no memory checkpoints.
  if (isolation === 'gvisor') {
    it(
      'survives a pause and a resume',
      async () => {
        const runtime = await create({ snapshot: snapshot.snapshot_id })
        const changed = await tree(runtime, 'change', `${seed}-pause`)
        await runtime.pause()
        await runtime.resume()
        expect(kinds(await diff(runtime))).toEqual(expected(made, changed))
      },
      timeoutMs,
    )

    it(
      'has only the changes of a fork since it began, and all of them since the image',
      async () => {
        const parent = await create({ snapshot: snapshot.snapshot_id })
        const forked = await tree(parent, 'change', `${seed}-parent`)
        const beforeFork = await parent.snapshot({ kind: 'filesystem' })
        const [child] = (await parent.fork({ record_files: true })) as [TestRuntime]
        runtimes.push(child)
        expect(await diff(child, { path: '/' })).toMatchObject({ data: [], since: { type: 'fork', id: parent.id } })
        await using old = await TreeCopy.of(child, root)
        const changed = await tree(child, 'change', `${seed}-child`)
        const found = await diff(child, { patch: true })
        expect(found.data).not.toEqual([])
        expect(kinds(found)).toEqual(expected(forked, changed))
        await using now = await TreeCopy.of(child, root)
        await expectPatched(old, now, found)
        expect(kinds(await diff(child, { since: 'image' }))).toEqual(expected(made, changed))
        expect(kinds(await diff(child, { since: beforeFork.snapshot_id }))).toEqual(expected(forked, changed))
        expect(kinds(await diff(parent))).toEqual(expected(made, forked))
        await deleteSnapshots(beforeFork.snapshot_id)
        const [grandchild] = (await child.fork({ record_files: true })) as [TestRuntime]
        runtimes.push(grandchild)
        const last = await tree(grandchild, 'change', `${seed}-grandchild`)
        expect(kinds(await diff(grandchild))).toEqual(expected(changed, last))
        expect(kinds(await diff(child))).toEqual(expected(forked, changed))
      },
      timeoutMs,
    )

    it(
      'has the changes since a memory snapshot, in its source and in its runtimes',
      async () => {
        const parent = await create({ snapshot: snapshot.snapshot_id })
        const early = await parent.snapshot({ kind: 'memory', record_files: true })
        const written = await tree(parent, 'change', `${seed}-early`)
        const memory = await parent.snapshot({ kind: 'memory', name: 'with-memory', record_files: true })
        expect(memory.record_files).toBe(true)
        const changed = await tree(parent, 'change', `${seed}-late`)
        expect(kinds(await diff(parent, { since: 'with-memory' }))).toEqual(expected(written, changed))
        expect(kinds(await diff(parent, { since: early.snapshot_id }))).toEqual(expected(made, changed))
        expect(kinds(await diff(parent))).toEqual(expected(made, changed))
        const restored = await create({ snapshot: memory.snapshot_id })
        expect(await diff(restored, { path: '/' })).toMatchObject({
          data: [],
          since: { type: 'snapshot', id: memory.snapshot_id, name: 'with-memory' },
        })
        const after = await tree(restored, 'change', `${seed}-restored`)
        await restored.pause()
        await restored.resume()
        expect(kinds(await diff(restored))).toEqual(expected(written, after))
        expect(kinds(await diff(restored, { since: early.snapshot_id }))).toEqual(expected(made, after))
        await deleteSnapshots(early.snapshot_id)
        const late = await restored.snapshot({ kind: 'memory', record_files: true })
        failure(await parent.call('GET', '/diff', { query: { since: late.snapshot_id } }), 'conflict')
        await deleteSnapshots(late.snapshot_id, memory.snapshot_id)
        expect(kinds(await diff(restored))).toEqual(expected(written, after))
      },
      timeoutMs,
    )

    it(
      'has the changes since the image, for forks and memory snapshots without a record',
      async () => {
        const parent = await create({ snapshot: snapshot.snapshot_id })
        const recorded = await parent.snapshot({ kind: 'memory', record_files: true })
        const changed = await tree(parent, 'change', `${seed}-unrecorded`)
        const plain = await parent.snapshot({ kind: 'memory' })
        const refused = failure(await parent.call('GET', '/diff', { query: { since: plain.snapshot_id } }), 'conflict')
        expect(refused.hint).toContain('record_files')
        const [child] = (await parent.fork()) as [TestRuntime]
        runtimes.push(child)
        const restored = await create({ snapshot: plain.snapshot_id })
        for (const each of [child, restored]) {
          const found = await diff(each)
          expect(found.since).toMatchObject({ type: 'snapshot', id: snapshot.snapshot_id })
          expect(kinds(found)).toEqual(expected(made, changed))
          expect(kinds(await diff(each, { since: recorded.snapshot_id }))).toEqual(expected(made, changed))
        }
        await deleteSnapshots(recorded.snapshot_id, plain.snapshot_id)
      },
      timeoutMs,
    )

    it(
      'names files of a fork whose earlier content was not kept',
      async () => {
        const parent = await create()
        await parent.sh(
          'mkdir /srv/f; cd /srv/f; yes a | head -c 70000 > grows; cp grows mode; cp grows same; echo 1 > small',
        )
        const [child] = (await parent.fork({ record_files: true })) as [TestRuntime]
        runtimes.push(child)
        await child.sh('cd /srv/f; echo b >> grows; chmod 755 mode; cp same t; cat t > same; rm t; echo 2 > small')
        const { data, patch, patch_complete } = await diff(child, { path: '/srv/f', patch: true })
        expect(data.map(({ path, change, patch: part }) => [path, change, part])).toEqual([
          ['/srv/f/grows', 'modified', 'not_kept'],
          ['/srv/f/mode', 'attributes', 'shown'],
          ['/srv/f/small', 'modified', 'shown'],
        ])
        expect(patch).toContain('# grows had content that was not kept and is not shown: before 70000 bytes')
        expect(patch).toContain('old mode 100644\nnew mode 100755\n')
        expect(patch).toContain('-1\n+2\n')
        expect(patch_complete).toBe(false)
      },
      timeoutMs,
    )
  }

  it(
    'is the same after a restart of the service',
    async () => {
      const runtime = await create({ snapshot: snapshot.snapshot_id })
      const changed = await tree(runtime, 'change', `${seed}-restart`)
      const found = await diff(runtime, { patch: true })
      expect(kinds(found)).toEqual(expected(made, changed))
      await crash()
      await restart()
      expect(await diff(runtime, { patch: true })).toEqual(found)
    },
    timeoutMs,
  )

  it(
    'refuses a path where nothing is and was, and a snapshot that does not fit',
    async () => {
      const refused = async (runtime: TestRuntime, query: Record<string, string>, code: ErrorCode) =>
        failure(await runtime.call('GET', '/diff', { query: { path: root, ...query } }), code)
      await refused(before, { path: '/none' }, 'path_not_found')
      await refused(before, { since: 'none' }, 'snapshot_not_found')
      await refused(before, { cursor: 'AAAA' }, 'invalid_request')
      await refused(await create(), { since: snapshot.snapshot_id }, 'conflict')
    },
    timeoutMs,
  )
})
