import { byLength } from '@holt/testkit'
import { beforeAll, expect, it } from 'vitest'
import { describeClasses } from './support/classes.ts'
import { describeTrees, digestTrees } from './support/describe-trees.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

/** The directories of a large tree, with 200 entries each. */
const directories = byLength({ short: 25, long: 100, soak: 100 })

interface Kept {
  readonly name: string
  /** Makes `$S` in an empty directory, as root. */
  readonly make: string
  /** Names of entries that must be there, so that a case cannot pass for want of its subject. */
  readonly has: readonly string[]
}

const kept: readonly Kept[] = [
  { name: 'a file', make: 'echo text > $S', has: [''] },
  { name: 'an empty file', make: ': > $S', has: [''] },
  {
    name: 'mode, owner and times of a file',
    make: 'echo x > $S; chown 1234:4321 $S; chmod 640 $S; touch -d 2001-02-03T04:05:06.789012345Z $S',
    has: [''],
  },
  {
    name: 'setuid, setgid and sticky bits',
    make: 'mkdir $S; cd $S; for m in 4755 2755 6711 1644; do echo $m > $m; chown 1000:1000 $m; chmod $m $m; done; mkdir d; chmod 3777 d',
    has: ['4755', 'd'],
  },
  { name: 'an empty directory', make: 'mkdir $S', has: [''] },
  {
    name: 'modes, owners and times of directories',
    make: 'mkdir -p $S/a/b/c; chmod 700 $S/a; chmod 2755 $S/a/b; chown 7:8 $S/a/b; chmod 555 $S/a/b/c; find $S -depth -exec touch -d 2002-03-04T05:06:07.000000001Z {} +',
    has: ['a/b/c'],
  },
  { name: 'a relative symlink as the source', make: 'echo x > t; ln -s t $S', has: [''] },
  { name: 'a dangling symlink as the source', make: 'ln -s nowhere $S', has: [''] },
  { name: 'a looping symlink as the source', make: 'ln -s s $S', has: [''] },
  { name: 'an absolute symlink as the source', make: 'ln -s /etc/passwd $S', has: [''] },
  { name: 'a symlink to a directory as the source', make: 'mkdir t; echo x > t/f; ln -s t $S', has: [''] },
  {
    name: 'symlinks in a tree: relative, dangling, looping, absolute, to directories, with an owner and a time',
    make: 'mkdir -p $S/d; cd $S; echo x > f; ln -s f rel; ln -s nowhere dangling; ln -s loop loop; ln -s b a; ln -s a b; ln -s /etc/passwd absolute; ln -s .. up; ln -s d dir; ln -s / root; chown -h 5:6 rel; touch -h -d 2003-04-05T06:07:08Z rel',
    has: ['dangling', 'loop', 'root', 'up'],
  },
  {
    name: 'hard links within the tree',
    make: 'mkdir -p $S/d; cd $S; echo x > a; ln a b; ln a d/c; echo y > other; ln d/c d/e',
    has: ['a', 'b', 'd/c', 'd/e'],
  },
  {
    name: 'a file that has a hard link outside the tree, on its own',
    make: 'mkdir $S; echo x > outside; ln outside $S/inside',
    has: ['inside'],
  },
  {
    name: 'extended attributes of files and directories',
    make: `mkdir $S; echo x > $S/f; python -c "import os, sys; s = sys.argv[1]
for path in (s, s + '/f'):
    os.setxattr(path, 'user.text', b'value'); os.setxattr(path, 'user.bytes', bytes(range(256))); os.setxattr(path, 'user.empty', b'')" $S`,
    has: ['f'],
  },
  {
    name: 'files that nobody may read, of another owner',
    make: 'mkdir $S; echo secret > $S/f; chown 1000:1000 $S/f; chmod 000 $S/f; mkdir $S/d; echo x > $S/d/g; chmod 000 $S/d',
    has: ['f', 'd/g'],
  },
  { name: 'a FIFO as the source', make: 'mkfifo -m 620 $S; chown 3:4 $S', has: [''] },
  { name: 'FIFOs in a tree', make: 'mkdir $S; mkfifo $S/a $S/b', has: ['a', 'b'] },
  {
    name: 'names that are not UTF-8',
    make: `mkdir $S; cd $S; for n in $(printf 'a\\377b c\\200 \\303'); do echo "$n" > "$n"; done; mkdir "$(printf 'd\\376')"; echo x > "$(printf 'd\\376/f\\375')"; ln -s "$(printf '\\371')" link`,
    has: ['a\udcffb', 'd\udcfe/f\udcfd'],
  },
  {
    name: 'names that surprise',
    make: `mkdir $S; cd $S; touch -- -rf "$(printf 'new\\nline')" ' ' '*' '"' "'" '\\' '...' .hidden "$(printf 'x%.0s' $(seq 255))"`,
    has: ['-rf', 'new\nline', '\\', 'x'.repeat(255)],
  },
  {
    name: 'files of every size around a block',
    make: 'mkdir $S; for n in 1 511 512 4095 4096 4097 65535 65536 1048575 1048577; do head -c $n /dev/urandom > $S/$n; done',
    has: ['1', '1048577'],
  },
]

describeClasses('a copy keeps', (isolation) => {
  let runtime: TestRuntime
  let count = 0
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  /** An empty directory on the runtime's disk, the shell's variables for it, and its paths. */
  function place() {
    const dir = `/srv/keeps/${count++}`
    return {
      shell: `mkdir -p ${dir}; cd ${dir}; S=${dir}/s; D=${dir}/d`,
      source: `${dir}/s`,
      destination: `${dir}/d`,
      oracle: `${dir}/oracle`,
    }
  }

  it.each(kept)('$name', async ({ make, has }) => {
    const { shell, source, destination, oracle } = place()
    await runtime.sh(`${shell}; ${make}; cp -a ${source} ${oracle}`)
    const { entry } = await runtime.copied({ source, destination, recursive: true })
    expect(entry).toMatchObject({ path: destination, name: 'd' })
    const [original, copy, made] = await describeTrees(runtime, source, destination, oracle)
    for (const path of has) expect(original?.map((row) => row.path)).toContain(path)
    expect(copy).toEqual(original)
    expect(copy).toEqual(made)
  })

  // Without an oracle: what `cp -a` links in gVisor loses them.
  it('owners and set-id bits of files with several names', async () => {
    const { shell, source, destination } = place()
    const make = 'mkdir $S; cd $S; echo x > a; ln a b; chown 12:34 a; chmod 4751 a; ln -s a l; ln l m; chown -h 5:6 l'
    await runtime.sh(`${shell}; ${make}`)
    await runtime.copied({ source, destination, recursive: true })
    const [original, copy] = await describeTrees(runtime, source, destination)
    expect(original?.find(({ path }) => path === 'b')).toMatchObject({ owner: '12:34', mode: '0o4751' })
    expect(copy).toEqual(original)
  })

  it('access times', async () => {
    const { shell, source, destination } = place()
    await runtime.sh(
      `${shell}; echo x > $S; touch -a -d 2001-01-01T00:00:00.5Z $S; touch -m -d 2000-01-01T00:00:00Z $S`,
    )
    await runtime.copied({ source, destination })
    expect(await runtime.sh(`stat -c '%X %Y' ${destination}`)).toBe('978307200 946684800')
  })

  it('holes, whatever data is between them', async () => {
    const { shell, source, destination } = place()
    await runtime.sh(
      `${shell}; mkdir $S; truncate -s 300M $S/all; truncate -s 100M $S/mixed; for at in 0 50 99; do echo data | dd of=$S/mixed bs=1M seek=$at conv=notrunc status=none; done; truncate -s 101M $S/mixed`,
    )
    await runtime.copied({ source, destination, recursive: true })
    expect(
      await runtime.sh(
        `cd ${destination}; stat -c '%n %s' all mixed; cmp all ${source}/all; cmp mixed ${source}/mixed`,
      ),
    ).toBe(`all ${300 * 2 ** 20}\nmixed ${101 * 2 ** 20}`)
    // gVisor's overlay does not count blocks; what a copy takes from the disk is tested where the
    // disk is full.
    if (isolation === 'container') {
      const [blocks = Number.NaN] = (await runtime.sh(`du -s -k ${destination}`)).split('\t').map(Number)
      expect(blocks).toBeLessThan(1024)
    }
  })

  it(`${directories * 200} entries`, async () => {
    const { shell, source, destination } = place()
    await runtime.sh(`${shell}; mkdir $S; cd $S; python -c "
import os
for d in range(${directories}):
    os.mkdir(f'd{d}')
    for f in range(100):
        with open(f'd{d}/f{f}', 'w') as file: file.write(f'{d} {f}')
    for f in range(50): os.link(f'd{d}/f{f}', f'd{d}/hard{f}')
    for f in range(49): os.symlink(f'f{f}', f'd{d}/soft{f}')"`)
    await runtime.copied({ source, destination, recursive: true })
    const [original, copy] = await digestTrees(runtime, source, destination)
    expect(original?.entries).toBe(directories * 200 + 1)
    expect(copy).toEqual(original)
  })

  it('a tree deeper than the longest path', async () => {
    const { shell, source, destination } = place()
    await runtime.sh(`${shell}; mkdir $S; python -c "
import os, sys
os.chdir(sys.argv[1])
for level in range(1000):
    os.mkdir('directory'); os.chdir('directory')
open('leaf', 'w').write('leaf')" $S`)
    await runtime.copied({ source, destination, recursive: true })
    expect(await runtime.sh(`find ${destination} | wc -l; rm -rf ${source} ${destination}`)).toBe('1002')
  })

  it('the target of a parent that is a symlink', async () => {
    const { shell, source, destination } = place()
    await runtime.sh(`${shell}; mkdir $S real; echo x > $S/f; ln -s real $D`)
    await runtime.copied({ source: `${source}/f`, destination: `${destination}/new/f` })
    expect(await runtime.sh(`cat ${destination}/../real/new/f`)).toBe('x')
  })

  it('nothing else in the directory of the destination', async () => {
    expect(await runtime.sh("find /srv/keeps -maxdepth 2 -name '.*'")).toBe('')
  })
})
