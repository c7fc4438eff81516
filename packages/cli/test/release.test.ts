import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, open, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testLength } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Arch, archs, type ReleaseFacts, readFacts } from '../../../scripts/release/facts.ts'
import { changesOf } from '../../../scripts/release/write-notes.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
/** A release links the guest and compresses 200 MB, and the first one fetches Node. */
const releaseMs = 600_000
const arch = process.arch as Arch

// A short run leaves this out: the release is made twice, which takes minutes.
describe.skipIf(testLength() === 'short')('a release', () => {
  let work: string
  let out: string
  let tree: string
  let facts: ReleaseFacts
  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'holt-release-'))
    out = join(work, 'one')
    facts = await readFacts(repository)
    tree = join(out, `holt-${facts.version}-linux-${arch}`)
    await run(process.execPath, [join(repository, 'scripts/release.ts'), '--out', out, '--arch', arch])
  }, releaseMs)
  afterAll(() => rm(work, { recursive: true, force: true }))

  /** Runs a program, and returns what it prints. Its only variables are those of a new login. */
  async function run(program: string, args: readonly string[], cwd = '/'): Promise<string> {
    const { PATH = '' } = process.env
    const env = program.startsWith(tree) || program.startsWith(join(work, 'bin')) ? { PATH: '/usr/bin:/bin' } : { PATH }
    const whole = { ...env, HOME: process.env.HOME ?? '/root', HOLT_STATE_DIR: join(work, 'state') }
    return (await promisify(execFile)(program, args, { cwd, env: whole })).stdout
  }

  test('every artifact and every file of the directory has its checksum', async () => {
    await run('sha256sum', ['--quiet', '--check', 'SHA256SUMS'], out)
    await run('sha256sum', ['--quiet', '--check', 'SHA256SUMS'], tree)
    const listed = (await readFile(join(tree, 'SHA256SUMS'), 'utf8')).trim().split('\n').length
    const files = (await run('find', [tree, '-type', 'f'])).trim().split('\n').length
    expect(listed).toBe(files - 1)
  })

  test('the same commit gives the same artifacts, in another directory and with another umask', {
    timeout: releaseMs,
  }, async () => {
    const again = join(work, 'two')
    const release = [process.execPath, join(repository, 'scripts/release.ts'), '--out', again, '--arch', arch]
    await run('sh', ['-c', 'umask 077; exec "$@"', 'sh', ...release])
    expect(await readFile(join(again, 'SHA256SUMS'), 'utf8')).toBe(await readFile(join(out, 'SHA256SUMS'), 'utf8'))
  })

  test.each(archs)(
    'the programs of a release for %s are for that processor',
    { timeout: releaseMs },
    async (wanted) => {
      const made = wanted === arch ? out : join(work, wanted)
      if (wanted !== arch)
        await run(process.execPath, [join(repository, 'scripts/release.ts'), '--out', made, '--arch', wanted])
      const lib = join(made, `holt-${facts.version}-linux-${wanted}/lib`)
      const machines = await Promise.all(
        ['node', 'holt-guest', 'runsc'].map(async (name) => [name, await elfMachineOf(join(lib, name))]),
      )
      const machine = { x64: 62, arm64: 183 }[wanted]
      expect(machines).toEqual(['node', 'holt-guest', 'runsc'].map((name) => [name, machine]))
      const debian = { x64: 'amd64', arm64: 'arm64' }[wanted]
      const deb = join(made, `holt_${facts.version}_${debian}.deb`)
      expect((await run('dpkg-deb', ['--field', deb, 'Architecture'])).trim()).toBe(debian)
      await run('sha256sum', ['--quiet', '--check', 'SHA256SUMS'], made)
    },
  )

  test('both programs run from any directory, also through a link', async () => {
    await run('mkdir', [join(work, 'bin')])
    for (const name of ['holt', 'holtd']) await symlink(join(tree, 'bin', name), join(work, 'bin', name))
    expect(await run(join(work, 'bin/holt'), ['--version'])).toBe(`${facts.version}\n`)
    expect(await run(join(work, 'bin/holtd'), ['version'])).toBe(`${facts.version}\n`)
  })

  /**
   * Runs the doctor of the directory, and returns what it prints. It fails where something is to be
   * fixed.
   */
  function runDoctor(): Promise<string> {
    return run(join(tree, 'bin/holtd'), ['doctor']).catch(({ stdout }) => stdout as string)
  }

  test('the service uses the guest and the runsc of the directory', async () => {
    const runsc = join(tree, 'lib/runsc')
    const real = await readFile(runsc)
    await writeFile(runsc, '#!/bin/sh\necho runsc version release-20991231.0\n')
    try {
      const checks = await runDoctor()
      expect(checks).toContain('20991231')
      expect(checks).toContain(`${facts.version}, ${join(tree, 'lib/holt-guest')}`)
    } finally {
      await writeFile(runsc, real)
    }
  })

  test('the directory has the documentation site, with the licences of its scripts', async () => {
    const site = join(tree, 'share/site')
    const { files } = JSON.parse(await readFile(join(site, 'manifest.json'), 'utf8'))
    expect(Object.keys(files)).toContain('reference/api.html')
    for (const name of Object.keys(files)) await access(join(site, `${name}.gz`))
    expect(await readFile(join(tree, 'share/licenses/site.txt'), 'utf8')).toMatch(/^vue \d/m)
    expect(await readFile(join(tree, 'share/licenses/console.txt'), 'utf8')).toMatch(/^react-dom \d.*MIT/m)
    const bundle = await run('grep', ['-rhoE', 'new URL\\("../../share/site"', join(tree, 'lib/bundle')])
    expect(bundle).not.toBe('')
  })

  test('the doctor of a release does not require a built guest', async () => {
    const guest = join(tree, 'lib/holt-guest')
    await rename(guest, `${guest}.away`)
    try {
      expect(await runDoctor()).toContain(`FIX: # guest: ${guest} is not there: install holt ${facts.version} again\n`)
    } finally {
      await rename(`${guest}.away`, guest)
    }
  })

  test('no file of the bundle contains a path of the build machine', async () => {
    const found = await run('grep', [
      '-rlF',
      repository.replace(/\/$/, ''),
      join(tree, 'lib/bundle'),
      join(tree, 'share'),
    ]).catch(({ stdout }) => stdout)
    expect(found).toBe('')
  })

  test('the Debian package has the directory, the commands and the units', async () => {
    const deb = join(out, `holt_${facts.version}_${arch === 'x64' ? 'amd64' : 'arm64'}.deb`)
    const root = join(work, 'root')
    await run('dpkg-deb', ['--raw-extract', deb, root])
    expect((await run(join(root, 'usr/lib/holt/bin/holt'), ['--version'])).trim()).toBe(facts.version)
    const [, page = ''] =
      /^Documentation: (.*)$/m.exec(await run(join(root, 'usr/lib/holt/bin/holt'), ['--help'])) ?? []
    expect(page).toBe(join(root, 'usr/lib/holt/share/doc/README.md'))
    expect(await run('readlink', [join(root, 'usr/bin/holt'), join(root, 'usr/bin/holtd')])).toBe(
      '../lib/holt/bin/holt\n../lib/holt/bin/holtd\n',
    )
    const unit = await readFile(join(root, 'usr/lib/systemd/system/holtd.service'), 'utf8')
    expect(unit).toContain('\nExecStart=/usr/lib/holt/bin/holtd serve\n')
    expect(unit).not.toMatch(/@HOLT@|\/opt\//)
    const [, pageOfUnit = ''] = /^Documentation=file:\/\/(.*)$/m.exec(unit) ?? []
    for (const place of ['README.md', 'docs/install.md', 'examples/quickstart/project/pyproject.toml'])
      await access(join(root, 'usr/share/doc/holt', place))
    await access(join(root, 'usr/lib/holt/share/site/index.html'))
    await access(join(root, pageOfUnit))
    expect(await run('gzip', ['-dc', join(root, 'usr/share/man/man1/holtd.1.gz')])).toContain('holt up')
    const halt = await readFile(join(root, 'usr/lib/systemd/system/holt-runtimes.service'), 'utf8')
    expect(halt).toContain('\nExecStop=/usr/lib/holt/bin/holtd halt\n')
    expect(await readFile(join(root, 'DEBIAN/control'), 'utf8')).not.toMatch(/@[A-Z]+@/)
  })

  test('a project outside of the repository uses the npm packages', { timeout: 120_000 }, async () => {
    const project = join(work, 'project')
    for (const name of ['protocol', 'sdk']) {
      const dir = join(project, 'node_modules/@holt', name)
      await mkdir(dir, { recursive: true })
      const archive = join(out, `holt-${name}-${facts.version}.tgz`)
      await run('tar', ['--extract', `--file=${archive}`, `--directory=${dir}`, '--strip-components=1'])
    }
    await mkdir(join(project, 'node_modules/@types'))
    for (const name of ['zod', '@types/node', 'undici-types'])
      await symlink(join(repository, 'node_modules', name), join(project, 'node_modules', name))
    const program = `import type { Runtime } from '@holt/protocol'
    import { Holt } from '@holt/sdk'
    const holt = new Holt({ url: 'http://127.0.0.1:1', apiKey: 'none' })
    export const create = async (): Promise<Runtime['state']> => (await holt.runtimes.create({ template: 'base-small' })).state
    console.log(typeof holt.runtimes.create)`
    const options = {
      module: 'nodenext',
      target: 'es2022',
      strict: true,
      types: ['node'],
      skipLibCheck: false,
      outDir: 'out',
    }
    await writeFile(join(project, 'package.json'), '{"type": "module"}')
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['main.ts'] }))
    await writeFile(join(project, 'main.ts'), program)
    await run(join(repository, 'node_modules/.bin/tsc'), ['-p', project]).catch(({ stdout }) => expect(stdout).toBe(''))
    expect(await run(process.execPath, [join(project, 'out/main.js')])).toBe('function\n')

    await writeFile(join(project, 'main.ts'), program.replace("'base-small'", '7'))
    await expect(run(join(repository, 'node_modules/.bin/tsc'), ['-p', project])).rejects.toThrow()
  })

  test('the bill of materials has every part with its version', async () => {
    const bom = JSON.parse(await readFile(join(out, `holt-${facts.version}-linux-${arch}.cdx.json`), 'utf8'))
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 })
    expect(bom.serialNumber).toMatch(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(bom.metadata.component).toMatchObject({ name: 'holt', version: facts.version })
    const components = bom.components as { name: string; version: string; 'bom-ref': string }[]
    const refs = components.map((component) => component['bom-ref'])
    expect(new Set(refs).size).toBe(refs.length)
    expect(bom.dependencies[0].dependsOn).toEqual(refs)
    const manifest = JSON.parse(await readFile(join(tree, 'manifest.json'), 'utf8'))
    for (const name of ['node', 'npm', 'runsc'])
      expect(components).toContainEqual(expect.objectContaining({ name, version: manifest[name] }))
    // One of the command, one of the service, one of the console, one of the guest.
    expect(components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['commander', 'fastify', 'react-dom', 'gvisor.dev/gvisor']),
    )
    expect(components.every(({ version }) => /^v?\d/.test(version))).toBe(true)
  })

  test('every part of the programs has its licence text, or its licence name if it ships no text', async () => {
    for (const name of ['bundle.txt', 'console.txt', 'holt-guest.txt']) {
      const parts = (await readFile(join(tree, 'share/licenses', name), 'utf8')).split(/^={80}$/m).slice(1)
      const without = parts.map((part) => part.trim()).filter((part) => part.split('\n').length < 5)
      expect(
        without.filter((part) => !/^\S+ \S+ [\w.-]+$/.test(part)),
        name,
      ).toEqual([])
      expect(without.length).toBeLessThan(parts.length / 10)
    }
  })

  test('the release notes have the changes of the version', async () => {
    const notes = await readFile(join(out, 'RELEASE-NOTES.md'), 'utf8')
    expect(notes).toContain(`# Holt ${facts.version}\n`)
    const changelog = '# Changelog\n\n## 2.0.0 - today\n\n* two\n\n### Added\n\n* three\n\n## 1.0.0\n\n* one\n'
    expect(changesOf(changelog, '2.0.0')).toBe('* two\n\n### Added\n\n* three')
    expect(changesOf(changelog, '1.0.0')).toBe('* one')
    expect(changesOf('## Unreleased\n\n* new\n', '3.0.0')).toBe('* new')
    expect(() => changesOf(changelog, '3.0.0')).toThrow('CHANGELOG.md has no section for 3.0.0')
  })
})

/** Returns the processor that a program is for: `e_machine` of its ELF header (elf(5)). */
async function elfMachineOf(file: string): Promise<number> {
  await using handle = await open(file)
  const { buffer } = await handle.read(Buffer.alloc(20), 0, 20, 0)
  expect(buffer.subarray(0, 4).toString('latin1'), file).toBe('\x7fELF')
  return buffer.readUInt16LE(18)
}
