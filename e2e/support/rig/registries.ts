import { execFile } from 'node:child_process'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const limits = { timeout: 60_000 }

/** The answer of a registry: a file, or content. */
interface Found {
  readonly type: string
  readonly path: string | null
  readonly content: string
}

/**
 * Package registries of one package each, as their real clients ask for them, and a git repository.
 */
export interface Registries {
  owns(host: string): boolean
  find(host: string, path: string): Promise<Found | null>
}

const python = `
import sys, zipfile
name = sys.argv[1] + '/holt_sample-1.0-py3-none-any.whl'
with zipfile.ZipFile(name, 'w') as wheel:
    wheel.writestr('holt_sample.py', 'answer = 42\\n')
    wheel.writestr('holt_sample-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: holt-sample\\nVersion: 1.0\\n')
    wheel.writestr('holt_sample-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('holt_sample-1.0.dist-info/RECORD', 'holt_sample.py,,\\nholt_sample-1.0.dist-info/METADATA,,\\nholt_sample-1.0.dist-info/WHEEL,,\\nholt_sample-1.0.dist-info/RECORD,,\\n')
`

/** Makes them below a directory. */
export async function makeRegistries(directory: string): Promise<Registries> {
  await mkdir(directory, { recursive: true })
  await run('python3', ['-c', python, directory], limits)
  const npm = await makeNpmPackage(directory)
  await makeGitRepository(join(directory, 'sample.git'))
  const wheel = 'holt_sample-1.0-py3-none-any.whl'
  const html = (body: string): Found => ({
    type: 'text/html',
    path: null,
    content: `<!DOCTYPE html><html><body>${body}</body></html>`,
  })
  const file = (path: string): Found => ({ type: 'application/octet-stream', path, content: '' })
  const fixed: Readonly<Record<string, Found>> = {
    'pypi.org/simple/holt-sample/': html(`<a href="https://files.pythonhosted.org/packages/${wheel}">${wheel}</a>`),
    [`files.pythonhosted.org/packages/${wheel}`]: file(join(directory, wheel)),
    'registry.npmjs.org/holt-sample': { type: 'application/json', path: null, content: JSON.stringify(npm.document) },
    'registry.npmjs.org/holt-sample/-/holt-sample-1.0.0.tgz': file(npm.tarball),
  }
  const hosts = ['pypi.org', 'files.pythonhosted.org', 'registry.npmjs.org', 'git.example.com']
  return {
    owns: (host) => hosts.includes(host),
    find: async (host, path) => {
      const [bare = ''] = path.split('?', 1)
      const known = fixed[host + bare]
      if (known !== undefined || host !== 'git.example.com') return known ?? null
      const inside = join(directory, normalize(bare))
      if (!inside.startsWith(`${directory}/sample.git/`)) return null
      const isFile = await stat(inside).then(
        (found) => found.isFile(),
        () => false,
      ) // What is missing is 404.
      return isFile ? file(inside) : null
    },
  }
}

async function makeNpmPackage(directory: string): Promise<{ tarball: string; document: object }> {
  const folder = join(directory, 'package')
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'holt-sample', version: '1.0.0', main: 'index.js' }),
  )
  await writeFile(join(folder, 'index.js'), 'module.exports = 42\n')
  const tarball = join(directory, 'holt-sample-1.0.0.tgz')
  await run('tar', ['-czf', tarball, '-C', directory, 'package'], limits)
  const { stdout } = await run('sha512sum', [tarball], limits)
  const integrity = `sha512-${Buffer.from(stdout.slice(0, 128), 'hex').toString('base64')}`
  const version = {
    name: 'holt-sample',
    version: '1.0.0',
    dist: {
      tarball: 'https://registry.npmjs.org/holt-sample/-/holt-sample-1.0.0.tgz',
      integrity,
    },
  }
  return {
    tarball,
    document: { name: 'holt-sample', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } },
  }
}

/** A bare repository with what the dumb protocol of HTTP needs (gitprotocol-http(5)). */
export async function makeGitRepository(bare: string): Promise<void> {
  const work = `${bare}.work`
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
      ...limits,
      env: { PATH: process.env.PATH, HOME: '/nonexistent' },
    })
  await git('init', '-q', '-b', 'main', work)
  await writeFile(join(work, 'README'), 'a repository\n')
  await git('-C', work, 'add', '-A')
  await git('-C', work, 'commit', '-q', '-m', 'first')
  await git('clone', '-q', '--bare', work, bare)
  await git('-C', bare, 'update-server-info')
}
