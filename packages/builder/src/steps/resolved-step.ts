import type { Selection } from '../context/selection.ts'
import type { CopySource } from '../dockerfile/plan.ts'

/** A step with expanded words: all inputs that its result depends on. */
export interface ResolvedStep {
  /** The number in the list of steps. */
  readonly number: number
  /** The instruction, for people. */
  readonly text: string
  /**
   * The key of the files after the step. A step that only changes settings has the key of the step
   * before.
   */
  readonly key: string
  /** The work of the step, or null if it only changes settings. */
  readonly work: Work | null
}

/** The work of a step on files. */
export type Work = RunWork | CopyWork | WorkdirWork

/** A directory that has to exist. */
export interface WorkdirWork {
  readonly type: 'workdir'
  readonly path: string
  readonly user: string
}

/** A command. */
export interface RunWork {
  readonly type: 'run'
  readonly argv: readonly string[]
  /** A script with an interpreter of its own, which `argv` names. */
  readonly script: { readonly path: string; readonly text: string } | null
  readonly env: Readonly<Record<string, string>>
  /** The user. Empty for root. */
  readonly user: string
  readonly workdir: string
  readonly mounts: readonly ResolvedMount[]
  /** The secrets that are variables instead of files. */
  readonly variables: readonly SecretVariable[]
  readonly noNetwork: boolean
}

/** A mount at a path of a command while it runs. */
export type ResolvedMount = {
  readonly target: string
} & (
  | { readonly type: 'bind'; readonly files: Files; readonly readOnly: boolean }
  | {
      readonly type: 'cache'
      readonly id: string
      readonly sharing: 'shared' | 'private' | 'locked'
      /** The initial content of the cache, or null. */
      readonly files: Files | null
      readonly mode: number | null
      readonly uid: number
      readonly gid: number
      readonly readOnly: boolean
    }
  | { readonly type: 'tmpfs' }
  | {
      readonly type: 'secret'
      readonly id: string
      readonly mode: number
      readonly uid: number
      readonly gid: number
    }
)

/** A secret that a command gets as a variable. */
export interface SecretVariable {
  readonly id: string
  readonly name: string
}

/** The work of COPY and ADD. */
export interface CopyWork {
  readonly type: 'copy'
  readonly parts: readonly Files[]
  /** An absolute path. A slash at its end means a directory. */
  readonly destination: string
  readonly chown: string | null
  readonly chmod: string | null
  readonly parents: boolean
}

/** Files of one source. */
export type Files =
  | { readonly type: 'context'; readonly selection: Selection; readonly unpack: boolean }
  | {
      readonly type: 'runtime'
      readonly from: Exclude<CopySource, { readonly type: 'context' }>
      readonly patterns: readonly string[]
      readonly exclude: readonly string[]
    }
  | { readonly type: 'text'; readonly name: string; readonly content: string }
  | { readonly type: 'address'; readonly url: string; readonly sha256: string; readonly unpack: boolean }
