import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeImage } from '@holt/erofs'
import type { Entry } from '@holt/tar'
import { expect, test } from 'vitest'
import { type BuildProgress, makeBaseTree } from '../../src/index.ts'
import { lacks, run } from '../support/machine.ts'

const recipeDir = new URL('../../../../templates/base', import.meta.url).pathname
const missing = lacks('mmdebstrap', 'npm', 'python3', 'chroot')
/** A mirror and three registries over a line that nobody promised. */
const TIMEOUT_MS = 15 * 60_000
const MAX_BYTES = 1024 * 2 ** 20

const setIds = [
  '/usr/bin/chage',
  '/usr/bin/chfn',
  '/usr/bin/chsh',
  '/usr/bin/expiry',
  '/usr/bin/gpasswd',
  '/usr/bin/mount',
  '/usr/bin/newgrp',
  '/usr/bin/passwd',
  '/usr/bin/ssh-agent',
  '/usr/bin/su',
  '/usr/bin/sudo',
  '/usr/bin/umount',
  '/usr/lib/openssh/ssh-keysign',
  '/usr/sbin/unix_chkpwd',
]

test.skipIf(missing !== '')(`makes the tree that the recipe promises${missing}`, { timeout: TIMEOUT_MS }, async () => {
  await using owned = new AsyncDisposableStack()
  const dir = await mkdtemp('/var/tmp/holt-base-test-')
  owned.defer(() => rm(dir, { recursive: true }))
  const workDir = join(dir, 'work')
  await chmod(dir, 0o755)
  const listing = new Map<string, Entry>()
  const progress: BuildProgress[] = []
  {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    await using tree = await makeBaseTree({ recipeDir, workDir, signal, onProgress: (step) => progress.push(step) })
    expect(tree.facts.python.version).toMatch(/^3\./)
    expect(tree.facts.node.lts).not.toBe('')
    expect(tree.facts.packages.map(({ name }) => name)).toEqual(expect.arrayContaining(tree.recipe.packages))
    const { sizeBytes } = await writeImage(listed(tree.entries, listing), join(dir, 'image'))
    expect(sizeBytes).toBeLessThan(MAX_BYTES)
  }
  expect(await readdir(workDir)).toEqual([])
  expect(progress.at(-1)).toMatchObject({ phase: 'ready', done: progress.at(-1)?.total })

  checkListing(listing)
  await checkInside(dir)
})

async function* listed(entries: AsyncIterable<Entry>, listing: Map<string, Entry>): AsyncGenerator<Entry> {
  for await (const entry of entries) {
    listing.set(
      `/${Buffer.from(entry.path)
        .toString()
        .replace(/^\.?\//, '')
        .replace(/\/$/, '')}`,
      entry,
    )
    yield entry
  }
}

function checkListing(listing: ReadonlyMap<string, Entry>): void {
  const paths = [...listing.keys()]
  const set = [...listing].filter(([, { type, mode }]) => type === 'file' && (mode & 0o6000) !== 0)
  expect(setIds).toEqual(expect.arrayContaining(set.map(([path]) => path)))
  expect(
    paths.filter((path) => /^\/(var\/lib\/apt\/lists|var\/cache\/apt\/archives)\/.*\.(deb|lz4)$/.test(path)),
  ).toEqual([])
  expect(paths.filter((path) => path.startsWith('/var/lib/apt/lists/') && path.includes('Packages'))).toEqual([])
  expect(paths.filter((path) => /ssh_host_|\/__holt|mmdebstrap\.apt/.test(path))).toEqual([])
  expect(paths.filter((path) => path.startsWith('/dev/') || path.startsWith('/proc/'))).toEqual([])
  for (const path of ['/dev', '/proc', '/sys', '/run/holt']) expect(listing.get(path)?.type, path).toBe('directory')
  for (const path of ['/etc/machine-id', '/etc/resolv.conf'])
    expect(listing.get(path), path).toMatchObject({ type: 'file', size: 0 })
  for (const path of ['/workspace', '/workspace/.venv', '/home/user']) {
    expect(listing.get(path), path).toMatchObject({ type: 'directory', uid: 1000, gid: 1000 })
  }
}

/** Checks the view of a runtime's user, in a chroot of the image under an overlay. */
async function checkInside(dir: string): Promise<void> {
  await using mounted = new AsyncDisposableStack()
  const [lower, over, root] = [join(dir, 'lower'), join(dir, 'over'), join(dir, 'root')]
  for (const path of [lower, over, root]) await mkdir(path)
  run(['mount', '-t', 'erofs', '-o', 'loop,ro', join(dir, 'image'), lower])
  mounted.defer(() => void run(['umount', lower]))
  run(['mount', '-t', 'tmpfs', 'holt-test', over])
  mounted.defer(() => void run(['umount', over]))
  for (const path of ['upper', 'work']) await mkdir(join(over, path))
  run([
    'mount',
    '-t',
    'overlay',
    'holt-test',
    '-o',
    `lowerdir=${lower},upperdir=${over}/upper,workdir=${over}/work`,
    root,
  ])
  mounted.defer(() => void run(['umount', root]))
  run(['mount', '-t', 'proc', 'holt-test', join(root, 'proc')])
  mounted.defer(() => void run(['umount', join(root, 'proc')]))
  run(['mknod', '-m', '666', join(root, 'dev/null'), 'c', '1', '3'])

  const path = '/workspace/.venv/bin:/home/user/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  const env = [
    'env',
    '-i',
    '-C',
    '/workspace',
    'HOME=/home/user',
    `PATH=${path}`,
    'VIRTUAL_ENV=/workspace/.venv',
    'LANG=C.UTF-8',
  ]
  const inside = (...argv: string[]) =>
    run(['chroot', '--userspec=1000:1000', root, ...env, ...argv])
      .toString()
      .trim()
  const login = (command: string) =>
    run(['chroot', root, 'su', '--login', 'user', '--command', command]).toString().trim()

  expect(login('echo $PATH')).toBe(path)
  const prefix = '/workspace/.venv'
  const askPrefix = 'import sys; print(sys.prefix)'
  expect(inside('python', '-c', askPrefix)).toBe(prefix)
  expect(inside('bash', '-lc', `python -c '${askPrefix}'`)).toBe(prefix)
  expect(login(`python3 -c '${askPrefix}'`)).toBe(prefix)
  expect(inside('sudo', 'python3', '-c', askPrefix)).toBe(prefix)
  expect(inside('sudo', 'id', '-u')).toBe('0')
  expect(inside('pip', '--version')).toContain(prefix)

  await writeFile(join(root, 'tmp/greet_wheel.py'), wheelMaker)
  inside('python', '/tmp/greet_wheel.py')
  inside('pip', 'install', '--no-index', '--no-deps', '/tmp/greet-1.0-py3-none-any.whl')
  expect(inside('python', '-c', 'import greet; print(greet.WORD)')).toBe('hello')
  inside('uv', 'pip', 'uninstall', 'greet')
  inside('uv', 'pip', 'install', '--offline', '--no-index', '/tmp/greet-1.0-py3-none-any.whl')
  expect(inside('uv', 'pip', 'list', '--format', 'freeze')).toContain('greet==1.0')

  expect(inside('node', '--print', '6 * 7')).toBe('42')
  expect(inside('npm', 'config', 'get', 'prefix')).toBe('/home/user/.local')
  for (const tool of [
    'git',
    'curl',
    'jq',
    'rg',
    'gcc',
    'make',
    'zip',
    'unzip',
    'ssh',
    'ip',
    'file',
    'patch',
    'npx',
    'uvx',
  ]) {
    expect(inside('which', tool), tool).toMatch(/^\//)
  }
  expect(inside('git', 'config', '--get', 'init.defaultBranch')).toBe('main')
}

/** Writes the smallest wheel that pip and uv both accept. */
const wheelMaker = `
import zipfile
files = {
    'greet.py': 'WORD = "hello"\\n',
    'greet-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0\\n',
    'greet-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
}
record = ''.join(f'{name},,\\n' for name in [*files, 'greet-1.0.dist-info/RECORD'])
with zipfile.ZipFile('/tmp/greet-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in {**files, 'greet-1.0.dist-info/RECORD': record}.items():
        wheel.writestr(name, text)
`
