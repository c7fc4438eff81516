import { posix } from 'node:path'
import { BuildError } from '../errors.ts'
import type { SourceKeys } from './source-keys.ts'
import type { BuildArgs, StageScope } from './stage-scope.ts'

/** The context in which the steps of one stage are resolved. */
export interface StepContext {
  readonly scope: StageScope
  readonly args: BuildArgs
  readonly sources: SourceKeys
  /** The identity of the network policy. It changes with the addresses that steps may reach. */
  readonly policyKey: string
  /** The ids of the given build secrets. */
  readonly secrets: ReadonlySet<string>
}

/**
 * Returns a path of a step, relative to the working directory. A final slash is kept, because it
 * means a directory.
 */
export function pathOf(word: string, workdir: string): string {
  if (word === '' || word.includes('\0') || Buffer.byteLength(word) > 4096)
    throw new BuildError('dockerfile_invalid', 'A path is empty or too long.')
  const path = posix.resolve('/', workdir, word)
  return /(?:^|\/)\.?$/.test(word) && path !== '/' ? `${path}/` : path
}
