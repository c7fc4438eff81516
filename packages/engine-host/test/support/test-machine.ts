import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildOnce, builtGuest } from '@holt/testkit'
import { findProgram } from '../../src/tools/find-program.ts'

const run = promisify(execFile)
const here = dirname(fileURLToPath(import.meta.url))

/** Returns why the machine lacks an ability that a test needs; null if it has all. */
export async function missing(...abilities: readonly ('root' | 'runsc' | 'runc' | 'go')[]): Promise<string | null> {
  for (const ability of abilities) {
    if (ability === 'root') {
      if (process.geteuid?.() !== 0) return 'needs root'
    } else if (ability === 'runsc') {
      if ((await findProgram(process.env.HOLT_RUNSC ?? 'runsc')) === null) return 'needs runsc'
    } else if ((await findProgram(ability, `/usr/local/go/bin/${ability}`)) === null) return `needs ${ability}`
  }
  return null
}

/** A directory that is removed at the end. */
export async function temporaryDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'holt-eh-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Puts a copy of the real guest into `dir`, which a test may change. */
export async function buildGuest(dir: string): Promise<string> {
  const target = join(dir, 'holt-guest')
  await copyFile(await builtGuest(), target)
  return target
}

/**
 * Makes the tree of the test image in `dir`: one program under many names, and the directories
 * programs expect.
 */
export async function makeImageTree(dir: string): Promise<void> {
  for (const each of ['bin', 'etc', 'tmp', 'root', 'run', 'proc', 'sys', 'dev', 'var/lib/data']) {
    await mkdir(join(dir, each), { recursive: true })
  }
  await copyFile(await buildOnce(join(here, 'probe')), join(dir, 'bin/probe'))
  for (const name of ['true', 'echo', 'cat']) await symlink('probe', join(dir, 'bin', name))
  await writeFile(join(dir, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n')
  await writeFile(join(dir, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n')
}

/** The tree as a tar. */
export async function* tarOf(dir: string): AsyncGenerator<Uint8Array> {
  const { stdout } = await run('tar', ['-c', '--numeric-owner', '--owner=0', '--group=0', '-C', dir, '.'], {
    encoding: 'buffer',
    maxBuffer: 2 ** 28,
  })
  yield stdout
}
