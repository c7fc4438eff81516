import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './run.ts'

/** The processors that releases are made for, by Node's names. */
export const archs = ['x64', 'arm64'] as const
export type Arch = (typeof archs)[number]

/** The processors by Debian's and Go's names. */
export const debArchs: Readonly<Record<Arch, string>> = { x64: 'amd64', arm64: 'arm64' }

/** The facts that every artifact of a release is made from. */
export interface ReleaseFacts {
  /** The repository's directory. */
  readonly root: string
  readonly version: string
  /** The commit's id. It ends with `-modified` if files differ from the commit. */
  readonly commit: string
  /** The time of every file in the artifacts: seconds since 1970. */
  readonly epochSecs: number
}

/**
 * Reads the facts. `SOURCE_DATE_EPOCH` replaces the time of the commit (reproducible-builds.org).
 */
export async function readFacts(root: string): Promise<ReleaseFacts> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const git = async (...args: string[]) => (await run(['git', ...args], { cwd: root })).trim()
  const modified = (await git('status', '--porcelain')) === '' ? '' : '-modified'
  return {
    root,
    version,
    commit: `${await git('rev-parse', 'HEAD')}${modified}`,
    epochSecs: Number(process.env.SOURCE_DATE_EPOCH ?? (await git('log', '-1', '--format=%ct'))),
  }
}
