import { readFileSync } from 'node:fs'
import type { TestRuntime } from './test-runtime.ts'

const program = readFileSync(new URL('../probe/tree.py', import.meta.url), 'utf8')

/** One file, directory, link or FIFO of a tree: everything a copy has to keep. */
export interface TreeEntry {
  readonly path: string
  readonly type: string
  readonly mode: string
  readonly owner: string
  readonly mtime_ns: string
  readonly xattrs: Readonly<Record<string, string>>
  readonly target?: string
  readonly size?: number
  readonly sha256?: string
  readonly linked_to?: string
}

/**
 * Describes trees inside a runtime with a program of its own, not with the service's file routes.
 * Null where nothing is.
 */
export async function describeTrees(
  runtime: TestRuntime,
  ...paths: string[]
): Promise<readonly (readonly TreeEntry[] | null)[]> {
  return runtime.python(program, paths)
}

/**
 * As `describeTrees`, for trees whose description is too long to be handed over: how many entries,
 * and a digest of all.
 */
export async function digestTrees(
  runtime: TestRuntime,
  ...paths: string[]
): Promise<readonly ({ readonly entries: number; readonly sha256: string } | null)[]> {
  return runtime.python(program, ['--digest', ...paths])
}
