import type { CheckedLine, Ignored } from '@holt/protocol'
import type { WordsSpent } from './word-account.ts'

/**
 * The steps of a build, in order, as read from a Dockerfile. Words are unexpanded, because the
 * environment of the base image is known only after it is pulled. `expandWord` expands them. Only
 * `FROM` is expanded here, from the global `ARG`s.
 */
export interface BuildPlan {
  /**
   * The stages that the target needs, each after those that it needs. The last one is the target.
   */
  readonly stages: readonly Stage[]
  readonly ignored: readonly Ignored[]
  readonly warnings: readonly string[]
  /** Every instruction of the file, also of stages that are not needed. */
  readonly lines: readonly CheckedLine[]
  /**
   * Values of the `ARG`s before the first `FROM` and of the predefined ones (TARGETARCH and the
   * like). A stage that declares one without a value gets this value.
   */
  readonly globalArgs: Readonly<Record<string, string>>
  /** The character of the `# escape=` directive, which quotes characters in words. */
  readonly escape: '\\' | '`'
  /** The work that reading charged. Words that steps expand are charged to the same account. */
  readonly spent: WordsSpent
}

/** One stage: a base, and the instructions on top of it. */
export interface Stage {
  /** Its number in the file, from 0. */
  readonly index: number
  /** The name of `FROM ... AS name`, in small letters. */
  readonly name: string | null
  readonly base: StageBase
  readonly line: number
  readonly instructions: readonly Instruction[]
}

/** The base of a stage. */
export type StageBase =
  | { readonly type: 'image'; readonly reference: string }
  | { readonly type: 'template'; readonly reference: string }
  | { readonly type: 'snapshot'; readonly reference: string }
  | { readonly type: 'stage'; readonly index: number }
  | { readonly type: 'scratch' }

/** The source of the files of COPY or of a bind mount. */
export type CopySource =
  | { readonly type: 'context' }
  | { readonly type: 'stage'; readonly index: number }
  | { readonly type: 'image'; readonly reference: string }
  | { readonly type: 'template'; readonly reference: string }

interface Common {
  /** The line in the file, from 1. */
  readonly line: number
  /** The instruction on one line, shortened, for people. */
  readonly text: string
}

/** One instruction that a build follows. */
export type Instruction = Common &
  (
    | RunInstruction
    | CopyInstruction
    | { readonly type: 'env'; readonly pairs: readonly Pair[] }
    | { readonly type: 'arg'; readonly args: readonly { readonly name: string; readonly default: string | null }[] }
    | { readonly type: 'workdir'; readonly path: string }
    | { readonly type: 'user'; readonly user: string }
    | { readonly type: 'shell'; readonly shell: readonly string[] }
    | { readonly type: 'label'; readonly pairs: readonly Pair[] }
    | { readonly type: 'expose'; readonly ports: readonly string[] }
  )

/** A name and its value. Both may have variables. */
export interface Pair {
  readonly name: string
  readonly value: string
}

/** A RUN instruction. */
export interface RunInstruction {
  readonly type: 'run'
  readonly form:
    | { readonly type: 'shell'; readonly script: string }
    | { readonly type: 'exec'; readonly argv: readonly string[] }
    /** `RUN <<EOF`: the text is the script, with the interpreter of its `#!` line if it has one. */
    | { readonly type: 'heredoc'; readonly script: string }
  /** `RUN cat <<EOF > /x`: the line with its heredocs, for the shell. It is one script already. */
  readonly mounts: readonly Mount[]
  /** `--network=none`. */
  readonly noNetwork: boolean
}

/** A mount of `RUN --mount`. Words may have variables. */
export type Mount =
  | {
      readonly type: 'bind'
      readonly target: string
      readonly from: CopySource
      readonly source: string
      readonly readOnly: boolean
    }
  | {
      readonly type: 'cache'
      readonly target: string
      readonly id: string
      readonly from: CopySource | null
      readonly source: string
      readonly sharing: 'shared' | 'private' | 'locked'
      readonly mode: string | null
      readonly uid: string | null
      readonly gid: string | null
      readonly readOnly: boolean
    }
  | { readonly type: 'tmpfs'; readonly target: string; readonly sizeBytes: number | null }
  | {
      readonly type: 'secret'
      readonly id: string
      /** The path. Null: `/run/secrets/ID`, unless `env` is given. */
      readonly target: string | null
      readonly env: string | null
      readonly required: boolean
      readonly mode: string | null
      readonly uid: string | null
      readonly gid: string | null
    }

/** A COPY or ADD instruction. */
export interface CopyInstruction {
  readonly type: 'copy'
  /** True for ADD, which fetches addresses and unpacks archives of the context. */
  readonly add: boolean
  readonly from: CopySource
  /** Patterns of paths, or for ADD also addresses. */
  readonly sources: readonly string[]
  readonly heredocs: readonly Heredoc[]
  readonly destination: string
  readonly chown: string | null
  readonly chmod: string | null
  /** `ADD --checksum=sha256:...`. */
  readonly checksum: string | null
  /** `COPY --parents`. */
  readonly parents: boolean
  /** `COPY --exclude`. */
  readonly exclude: readonly string[]
  /** `ADD --unpack`. Null: depends on the kind of the source. */
  readonly unpack: boolean | null
}

/** A file whose text is in the Dockerfile. */
export interface Heredoc {
  readonly name: string
  readonly content: string
  /** True if variables in the text are expanded: the delimiter was not quoted. */
  readonly expand: boolean
}
