import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { glob, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** The files that determine a Go program. */
const sourcePattern = '**/{*.go,go.mod,go.sum}'

/**
 * The time limit of a build, in milliseconds. The first build of the guest also compiles the Go
 * library, which takes minutes on a slow machine.
 */
const buildMs = 600_000

/**
 * Returns the path of the guest of this repository, `guest/holt-guest`. It is built only if a
 * source is newer, as in `scripts/lib/go.sh`. Other tests read the same file, so a test that
 * changes it copies it first.
 */
export async function builtGuest(): Promise<string> {
  const dir = join(repository, 'guest')
  const target = join(dir, 'holt-guest')
  const builtMs = existsSync(target) ? statSync(target).mtimeMs : 0
  const sources = await sourcesIn(dir)
  if (sources.some((source) => statSync(join(dir, source)).mtimeMs > builtMs)) await build(dir, target)
  return target
}

/**
 * Returns the path of a static program built from the Go sources in a directory. It is built once
 * for each content of the sources, and kept in `.holt/test-programs` for later runs.
 */
export async function buildOnce(dir: string): Promise<string> {
  const hash = createHash('sha256')
  for (const source of await sourcesIn(dir)) hash.update(`${source}\0`).update(await readFile(join(dir, source)))
  const kept = join(repository, '.holt/test-programs')
  const target = join(kept, `${basename(dir)}-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(target)) return target
  await mkdir(kept, { recursive: true })
  await build(dir, target)
  return target
}

async function sourcesIn(dir: string): Promise<readonly string[]> {
  return (await Array.fromAsync(glob(sourcePattern, { cwd: dir }))).sort()
}

/**
 * Builds into a file beside the target, so that two processes may build at once and neither sees
 * half a program.
 */
async function build(dir: string, target: string): Promise<void> {
  // A program without a module is named by its files.
  const what = existsSync(join(dir, 'go.mod')) ? ['.'] : (await sourcesIn(dir)).filter((name) => !name.includes('/'))
  const unfinished = `${target}.${randomUUID()}`
  const env = {
    ...process.env,
    CGO_ENABLED: '0',
    GOTOOLCHAIN: process.env.GOTOOLCHAIN ?? 'auto',
    PATH: `${repository}/.holt/tools/bin:${process.env.PATH}:/usr/local/go/bin`,
  }
  try {
    const options = ['-trimpath', '-ldflags=-s -w', '-o', unfinished]
    await run('go', ['build', ...options, ...what], { cwd: dir, env, timeout: buildMs })
    await rename(unfinished, target)
  } finally {
    await rm(unfinished, { force: true })
  }
}
