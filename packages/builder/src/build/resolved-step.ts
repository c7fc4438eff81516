import type { Selection } from '../context/selection.ts'
import type { CopySource } from '../dockerfile/plan.ts'

/** A step whose words are expanded: all that its outcome depends on. */
export interface ResolvedStep {
  /** Its number in the list of steps. */
  readonly number: number
  /** The instruction, for people. */
  readonly text: string
  /** The files after it. Steps that change settings only have the key of the step before. */
  readonly key: string
  /** What there is to do; null where only settings changed. */
  readonly work: Work | null
}

/** What a step does to files. */
export type Work = RunWork | CopyWork | WorkdirWork

/** A directory that is to be there. */
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
  /** Empty: root. */
  readonly user: string
  readonly workdir: string
  readonly mounts: readonly ResolvedMount[]
  /** Secrets that are variables and no files. */
  readonly variables: readonly SecretVariable[]
  readonly noNetwork: boolean
}

/** What a command finds at a path while it runs. */
export type ResolvedMount = {
  readonly target: string
} & (
  | { readonly type: 'bind'; readonly files: Files; readonly readOnly: boolean }
  | {
      readonly type: 'cache'
      readonly id: string
      readonly sharing: 'shared' | 'private' | 'locked'
      /** What it begins with; null: nothing. */
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

/** A secret that a command has as a variable. */
export interface SecretVariable {
  readonly id: string
  readonly name: string
}

/** COPY and ADD. */
export interface CopyWork {
  readonly type: 'copy'
  readonly parts: readonly Files[]
  /** Absolute; a slash at its end means a directory. */
  readonly destination: string
  readonly chown: string | null
  readonly chmod: string | null
  readonly parents: boolean
}

/** Files from somewhere. */
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
