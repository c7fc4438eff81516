/**
 * The parts of an OCI runtime configuration that Holt writes (OCI runtime-spec 1.0.2, `config.md`).
 */
export interface OciConfig {
  readonly ociVersion: '1.0.2'
  readonly process: {
    readonly terminal: false
    readonly user: { readonly uid: 0; readonly gid: 0 }
    readonly args: readonly string[]
    readonly env: readonly string[]
    readonly cwd: '/'
    readonly capabilities: Readonly<Record<'bounding' | 'effective' | 'permitted', readonly string[]>>
    readonly rlimits: readonly { readonly type: string; readonly soft: number; readonly hard: number }[]
    readonly noNewPrivileges: boolean
    readonly oomScoreAdj: number
  }
  readonly root: { readonly path: string; readonly readonly: boolean }
  readonly hostname: string
  readonly mounts: readonly OciMount[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly linux: {
    readonly cgroupsPath: string
    readonly namespaces: readonly { readonly type: string; readonly path?: string }[]
    readonly uidMappings?: readonly OciIds[]
    readonly gidMappings?: readonly OciIds[]
    readonly resources: OciResources
    readonly maskedPaths?: readonly string[]
    readonly readonlyPaths?: readonly string[]
    readonly rootfsPropagation?: 'private'
    readonly seccomp?: OciSeccomp
  }
}

/** A range of users or groups. */
interface OciIds {
  readonly containerID: number
  readonly hostID: number
  readonly size: number
}

/** One mount of a runtime. */
interface OciMount {
  readonly destination: string
  readonly type: string
  readonly source: string
  readonly options?: readonly string[]
}

/** The limits of a cgroup. */
export interface OciResources {
  readonly memory: { readonly limit: number; readonly swap?: number }
  readonly cpu: { readonly quota: number; readonly period: number; readonly shares: number }
  readonly pids: { readonly limit: number }
  readonly devices: readonly { readonly allow: boolean; readonly access: string }[]
}

/** A system call filter. */
export interface OciSeccomp {
  readonly defaultAction: 'SCMP_ACT_ERRNO'
  readonly defaultErrnoRet: number
  readonly architectures: readonly string[]
  readonly syscalls: readonly OciSyscallRule[]
}

/** System calls that are allowed, or refused with an errno of their own. */
interface OciSyscallRule {
  readonly names: readonly string[]
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO'
  readonly errnoRet?: number
  readonly args?: readonly {
    readonly index: number
    readonly value: number
    readonly valueTwo?: number
    readonly op: string
  }[]
}
