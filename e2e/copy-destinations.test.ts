import type { CopyFileInput, ErrorCode } from '@holt/protocol'
import { beforeAll, expect, it } from 'vitest'
import { anyFailure, failure, pointersOf } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { describeTrees, type TreeEntry } from './support/describe-trees.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

const file = 'echo new > $S'
const tree = 'mkdir -p $S/sub; echo new > $S/sub/f'

interface Refusal {
  readonly name: string
  /**
   * Makes source and destination, as root, in an empty directory in which `$S` and `$D` are `s` and
   * `d`.
   */
  readonly make: string
  readonly code: ErrorCode | readonly ErrorCode[]
  /** Relative to the directory. Default `s` and `d`. */
  readonly source?: string
  readonly destination?: string
  readonly recursive?: boolean
  readonly overwrite?: boolean
  /** The message names this. */
  readonly names?: string
}

// Each leaves everything as it was.
const refusals: readonly Refusal[] = [
  { name: 'a missing source', make: ':', code: 'path_not_found' },
  {
    name: 'a missing source below a missing parent',
    make: ':',
    source: 'no/such',
    destination: 'new/d',
    code: 'path_not_found',
  },
  { name: 'a source below a file', make: file, source: 's/below', code: ['not_a_directory', 'path_not_found'] },
  { name: 'a source below a loop of links', make: 'ln -s b a; ln -s a b', source: 'a/x', code: 'symlink_loop' },
  { name: 'a directory without recursive', make: tree, code: 'is_directory' },
  {
    name: 'a directory without recursive, parents missing',
    make: tree,
    destination: 'new/parent/d',
    code: 'is_directory',
  },
  {
    name: 'a directory without recursive over a file',
    make: `${tree}; echo old > $D`,
    overwrite: true,
    code: 'is_directory',
  },
  { name: 'a file that exists', make: `${file}; echo old > $D`, code: 'already_exists' },
  { name: 'a directory that exists, for a file', make: `${file}; mkdir $D`, code: 'already_exists' },
  {
    name: 'a directory that exists, for a tree',
    make: `${tree}; mkdir $D; echo old > $D/old`,
    recursive: true,
    code: 'already_exists',
  },
  { name: 'a symlink that exists', make: `${file}; echo old > t; ln -s t $D`, code: 'already_exists' },
  { name: 'a symlink to a directory that exists', make: `${file}; mkdir t; ln -s t $D`, code: 'already_exists' },
  { name: 'a dangling symlink that exists', make: `${file}; ln -s nowhere $D`, code: 'already_exists' },
  { name: 'a parent that is a file', make: `${file}; echo old > $D`, destination: 'd/below', code: 'not_a_directory' },
  {
    name: 'a parent that is a loop of links',
    make: `${file}; ln -s b a; ln -s a b`,
    destination: 'a/d',
    code: 'symlink_loop',
  },
  { name: 'the source itself', make: file, destination: 's', code: 'invalid_request' },
  { name: 'the source itself with overwrite', make: file, destination: 's', overwrite: true, code: 'invalid_request' },
  {
    name: 'a tree onto itself with overwrite',
    make: tree,
    destination: 's',
    recursive: true,
    overwrite: true,
    code: 'invalid_request',
  },
  {
    name: 'the source under another name of its directory',
    make: `${file}; ln -s . alias`,
    destination: 'alias/s',
    overwrite: true,
    code: 'invalid_request',
  },
  {
    name: 'a destination inside the source',
    make: tree,
    destination: 's/sub/copy',
    recursive: true,
    code: 'invalid_request',
  },
  {
    name: 'a destination inside the source, parents missing',
    make: tree,
    destination: 's/new/copy',
    recursive: true,
    code: 'invalid_request',
  },
  {
    name: 'a destination inside the source through a link',
    make: `${tree}; ln -s s/sub alias`,
    destination: 'alias/copy',
    recursive: true,
    code: 'invalid_request',
  },
  {
    name: 'a destination inside a source named through a link',
    make: `${tree}; ln -s . alias`,
    source: 'alias/s',
    destination: 's/sub/copy',
    recursive: true,
    code: 'invalid_request',
  },
  {
    name: 'a socket',
    make: 'python -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" $S',
    code: 'not_a_file',
    names: '/s',
  },
  {
    name: 'a socket in a tree',
    make: `${tree}; python -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" $S/sub/sock`,
    recursive: true,
    code: 'not_a_file',
    names: '/s/sub/sock',
  },
  {
    name: 'a socket in a tree over an old one',
    make: `${tree}; python -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" $S/sock; mkdir $D; echo old > $D/f`,
    recursive: true,
    overwrite: true,
    code: 'not_a_file',
    names: '/s/sock',
  },
]

interface Replacement {
  readonly name: string
  readonly make: string
}

// Each puts exactly the source at the destination, and touches nothing else.
const replacements: readonly Replacement[] = [
  { name: 'nothing by a file', make: file },
  { name: 'a file by a file', make: `${file}; echo old > $D; chmod 600 $D` },
  { name: 'a file by a tree', make: `${tree}; echo old > $D` },
  { name: 'a tree by a file', make: `${file}; mkdir -p $D/a/b; echo old > $D/a/b/f` },
  {
    name: 'a tree by a tree, never merging',
    make: `${tree}; mkdir -p $D/sub; echo old > $D/sub/f; echo old > $D/sub/old; echo old > $D/old`,
  },
  { name: 'an empty directory by a tree', make: `${tree}; mkdir $D` },
  { name: 'a symlink by a file', make: `${file}; echo old > t; ln -s t $D` },
  { name: 'a dangling symlink by a file', make: `${file}; ln -s nowhere $D` },
  { name: 'a looping symlink by a file', make: `${file}; ln -s d $D` },
  { name: 'a symlink to a directory by a tree', make: `${tree}; mkdir t; echo old > t/old; ln -s t $D` },
  { name: 'a symlink to a directory by a file', make: `${file}; mkdir t; echo old > t/old; ln -s t $D` },
  { name: 'a symlink to the source by the source', make: `${tree}; ln -s s $D` },
  { name: 'a FIFO by a file', make: `${file}; mkfifo $D` },
  { name: 'a file by a symlink', make: 'ln -s nowhere $S; echo old > $D' },
  { name: 'a directory of the image by a tree', make: `${tree}; rm -rf $D; cp -a /etc/skel $D` },
]

const long = `/${'x'.repeat(200)}`.repeat(21)
const wrongPaths: readonly (readonly [name: string, path: unknown])[] = [
  ['relative', 'etc/passwd'],
  ['empty', ''],
  ['with NUL', '/etc/passwd\0.txt'],
  ['with ..', '/srv/../etc/passwd'],
  ['with .', '/srv/./x'],
  ['over 4096 bytes', long],
  ['with a part over 255 bytes', `/${'x'.repeat(256)}`],
  ['not well-formed', '/\ud800'],
]

describeClasses('a copy', (isolation) => {
  let runtime: TestRuntime
  let count = 0
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  async function prepare(make: string): Promise<string> {
    const dir = `/srv/to/${count++}`
    await runtime.sh(`mkdir -p ${dir}; cd ${dir}; S=${dir}/s; D=${dir}/d; ${make}`)
    return dir
  }

  it.each(refusals)(
    'refuses $name and changes nothing',
    async ({ make, code, names, source = 's', destination = 'd', recursive = false, overwrite = false }) => {
      const dir = await prepare(make)
      const [before] = await describeTrees(runtime, dir)
      const answer = await runtime.copy({
        source: `${dir}/${source}`,
        destination: `${dir}/${destination}`,
        recursive,
        overwrite,
      })
      const error = anyFailure(answer)
      expect([code].flat()).toContain(error.code)
      if (names !== undefined) expect(error.message).toContain(names)
      const [after] = await describeTrees(runtime, dir)
      expect(apartFrom(after, null)).toEqual(apartFrom(before, null))
    },
  )

  it.each(replacements)('with overwrite replaces $name', async ({ make }) => {
    const dir = await prepare(make)
    const [before] = await describeTrees(runtime, dir)
    await runtime.copied({ source: `${dir}/s`, destination: `${dir}/d`, recursive: true, overwrite: true })
    const [source, destination, after] = await describeTrees(runtime, `${dir}/s`, `${dir}/d`, dir)
    expect(destination).toEqual(source)
    expect(apartFrom(after, 'd')).toEqual(apartFrom(before, 'd'))
  })

  it('creates missing parents, and normalises slashes', async () => {
    const dir = await prepare(file)
    const { destination } = await runtime.copied({ source: `/${dir}//s`, destination: `${dir}/a//b/c/d/` })
    expect(destination).toBe(`${dir}/a/b/c/d`)
    expect(await runtime.sh(`cat ${dir}/a/b/c/d`)).toBe('new')
  })

  it('creates exactly the destination, never a path inside it', async () => {
    const dir = await prepare(tree)
    await runtime.copied({ source: `${dir}/s`, destination: `${dir}/d`, recursive: true })
    expect(await runtime.sh(`cd ${dir}/d; find . | sort`)).toBe('.\n./sub\n./sub/f')
  })

  it('onto a parent of its source loses nothing', async () => {
    const dir = await prepare('mkdir -p $D/a; echo precious > $D/a/s')
    const answer = await runtime.copy({
      source: `${dir}/d/a/s`,
      destination: `${dir}/d`,
      recursive: true,
      overwrite: true,
    })
    if (answer.status !== 200) anyFailure(answer)
    expect(await runtime.sh(`cat ${dir}/d 2>/dev/null || cat ${dir}/d/a/s`)).toBe('precious')
  })

  it('onto another hard link of its source loses nothing', async () => {
    const dir = await prepare(`${file}; ln $S $D`)
    const answer = await runtime.copy({ source: `${dir}/s`, destination: `${dir}/d`, overwrite: true })
    if (answer.status !== 200) anyFailure(answer)
    expect(await runtime.sh(`cat ${dir}/s ${dir}/d; ls -A ${dir}`)).toBe('new\nnew\nd\ns')
  })

  it('of a device fails with its name', async () => {
    const dir = await prepare(':')
    const one = failure(await runtime.copy({ source: '/dev/null', destination: `${dir}/d` }), 'not_a_file')
    expect(one.message).toContain('/dev/null')
    const all = failure(await runtime.copy({ source: '/dev', destination: `${dir}/d`, recursive: true }), 'not_a_file')
    expect(all.message).toContain('/dev/')
    expect(await runtime.sh(`ls -A ${dir}`)).toBe('')
  })

  it('of the root into itself is refused', async () => {
    failure(await runtime.copy({ source: '/', destination: '/srv/root', recursive: true }), 'invalid_request')
    expect(await runtime.sh('ls -A /srv')).toBe('to')
  })

  it.each(['/', '/proc/new', '/sys/new', '/run/holt/new', '/run/holt-guest'])(
    'to %s is refused and creates nothing',
    async (destination) => {
      const dir = await prepare(file)
      anyFailure(await runtime.copy({ source: `${dir}/s`, destination }))
      anyFailure(await runtime.copy({ source: `${dir}/s`, destination, overwrite: true }))
      expect(
        await runtime.sh(`test -x /run/holt-guest; test -d /; ls -A /run/holt; ls -A / | grep '^[.]holt' || true`),
      ).toBe('control.sock')
    },
  )

  it.each(wrongPaths)('refuses a path that is %s', async (_, path) => {
    const source = failure(await runtime.copy({ source: path as string, destination: '/srv/never' }), 'invalid_path')
    expect(pointersOf(source)).toEqual(['/source'])
    const both = failure(await runtime.copy({ source: path as string, destination: path as string }), 'invalid_path')
    expect(pointersOf(both)).toEqual(['/destination', '/source'])
  })

  it('reports all wrong and unknown fields at once', async () => {
    const body = { source: 1, recursive: 'yes', overwrite: null, merge: true }
    const error = failure(await runtime.copy(body as unknown as CopyFileInput), 'invalid_request')
    expect(pointersOf(error)).toEqual(['/destination', '/merge', '/overwrite', '/recursive', '/source'])
  })
})

/**
 * Entries of a tree but for those at and below `name`, and but for the time of the directory that
 * holds it: a copy may begin beside its destination.
 */
function apartFrom(tree: readonly TreeEntry[] | null | undefined, name: string | null) {
  return tree
    ?.filter(({ path }) => name === null || (path !== name && !path.startsWith(`${name}/`)))
    .map((entry) => (entry.path === '' ? { ...entry, mtime_ns: '' } : entry))
}
