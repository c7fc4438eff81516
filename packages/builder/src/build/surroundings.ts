import { posix } from 'node:path'
import { BuildError } from './contract.ts'
import type { SourceKeys } from './source-keys.ts'
import type { BuildArgs, StageScope } from './stage-scope.ts'

/** What the steps of one stage are resolved against. */
export interface Surroundings {
  readonly scope: StageScope
  readonly args: BuildArgs
  readonly sources: SourceKeys
  /** Changes with what steps may reach. */
  readonly policyKey: string
  /** Ids of the build secrets that were given. */
  readonly secrets: ReadonlySet<string>
}

/**
 * A path of a step: relative to the working directory, its last slash kept, since it means a
 * directory.
 */
export function pathOf(word: string, workdir: string): string {
  if (word === '' || word.includes('\0') || Buffer.byteLength(word) > 4096)
    throw new BuildError('dockerfile_invalid', 'A path is empty or too long.')
  const path = posix.resolve('/', workdir, word)
  return /(?:^|\/)\.?$/.test(word) && path !== '/' ? `${path}/` : path
}
