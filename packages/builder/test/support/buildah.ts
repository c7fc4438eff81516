import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readTar } from '@holt/tar'
import { type Described, describeTree } from './describe-tree.ts'
import { run as runTool } from './machine.ts'

const run = promisify(execFile)

/** The build of the oracle. */
export interface OracleBuild {
  readonly name: string
  readonly text: string
  readonly context: string
  readonly buildArgs: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
  readonly target: string | null
}

/**
 * Builds as another program does, with a storage of its own, and describes the tree that comes of
 * it.
 */
export async function buildWithBuildah(dir: string, build: OracleBuild): Promise<Map<string, Described>> {
  const work = join(dir, `buildah-${build.name}`)
  const output = join(work, 'tree.tar')
  await mkdir(work)
  await writeFile(join(work, 'Dockerfile'), build.text)
  const secrets = await Promise.all(
    Object.entries(build.secrets).map(async ([id, value], index) => {
      const path = join(work, `secret-${index}`)
      await writeFile(path, value)
      return `--secret=id=${id},src=${path}`
    }),
  )
  const args = [
    ...storage(dir),
    'build',
    '--isolation=chroot',
    '--tls-verify=false',
    '--layers=false',
    // Only this format has SHELL.
    '--format=docker',
    `--output=type=tar,dest=${output}`,
    ...Object.entries(build.buildArgs).map(([name, value]) => `--build-arg=${name}=${value}`),
    ...secrets,
    ...(build.target === null ? [] : [`--target=${build.target}`]),
    `--file=${join(work, 'Dockerfile')}`,
    build.context,
  ]
  await run('buildah', args, { timeout: 120_000, maxBuffer: 2 ** 24 })
  const tree = await describeTree(readTar(createReadStream(output)))
  await rm(work, { recursive: true })
  return tree
}

/** Fetches an image once, so that builds find it. */
export async function pullWithBuildah(dir: string, reference: string): Promise<void> {
  await run('buildah', [...storage(dir), 'pull', '--tls-verify=false', reference], { timeout: 120_000 })
}

/** Runs buildah with a storage of its own in a directory, and answers what it says. */
export function buildahIn(dir: string): (...args: string[]) => string {
  return (...args) =>
    runTool(['buildah', ...storage(dir), ...args])
      .toString()
      .trim()
}

function storage(dir: string): string[] {
  return [`--root=${dir}/buildah`, `--runroot=${dir}/buildah-run`, '--storage-driver=vfs']
}
