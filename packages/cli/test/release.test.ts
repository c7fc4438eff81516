import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Arch, type ReleaseFacts, readFacts } from '../../../scripts/release/facts.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
/** A release links the guest and compresses 200 MB, and the first one fetches Node. */
const releaseMs = 600_000
const arch = process.arch as Arch

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

test('every artifact and every file of the directory has its sum', async () => {
  await run('sha256sum', ['--quiet', '--check', 'SHA256SUMS'], out)
  await run('sha256sum', ['--quiet', '--check', 'SHA256SUMS'], tree)
  const listed = (await readFile(join(tree, 'SHA256SUMS'), 'utf8')).trim().split('\n').length
  const files = (await run('find', [tree, '-type', 'f'])).trim().split('\n').length
  expect(listed).toBe(files - 1)
})

test('the same commit gives the same archive, in another place and with another umask', {
  timeout: releaseMs,
}, async () => {
  const again = join(work, 'two', `holt-${facts.version}-linux-${arch}`)
  const script = `process.umask(0o077)
    const { makeTree } = await import(${JSON.stringify(join(repository, 'scripts/release/make-tree.ts'))})
    const { writeArchive } = await import(${JSON.stringify(join(repository, 'scripts/release/write-archive.ts'))})
    const facts = ${JSON.stringify(facts)}
    await makeTree(facts, ${JSON.stringify(arch)}, ${JSON.stringify(again)})
    await writeArchive(${JSON.stringify(again)}, ${JSON.stringify(`${again}.tar.gz`)}, facts)`
  await run(process.execPath, ['--input-type=module', '--eval', script])
  const sumOf = async (file: string) =>
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex')
  expect(await sumOf(`${again}.tar.gz`)).toBe(await sumOf(`${tree}.tar.gz`))
})

test('both programs run from any place, also through a link', async () => {
  await run('mkdir', [join(work, 'bin')])
  for (const name of ['holt', 'holtd']) await symlink(join(tree, 'bin', name), join(work, 'bin', name))
  expect(await run(join(work, 'bin/holt'), ['--version'])).toBe(`${facts.version}\n`)
  expect(await run(join(work, 'bin/holtd'), ['version'])).toBe(`${facts.version}\n`)
})

test('the service uses the guest and the runsc of the directory', async () => {
  const runsc = join(tree, 'lib/runsc')
  const real = await readFile(runsc)
  await writeFile(runsc, '#!/bin/sh\necho runsc version release-20991231.0\n')
  await chmod(runsc, 0o755)
  try {
    const checks = (await run(join(tree, 'bin/holtd'), ['doctor', '--json']).catch(({ stdout }) => stdout)) as string
    expect(checks).toContain('20991231')
    expect(checks).toContain(`${facts.version}, ${join(tree, 'lib/holt-guest')}`)
  } finally {
    await writeFile(runsc, real)
  }
})

test('no file of the bundle names a place of the machine that it was made on', async () => {
  const found = await run('grep', [
    '-rlF',
    repository.replace(/\/$/, ''),
    join(tree, 'lib/bundle'),
    join(tree, 'share'),
  ]).catch(({ stdout }) => stdout)
  expect(found).toBe('')
})
