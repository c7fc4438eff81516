import { arch } from 'node:os'

/** What programs are made for. */
export interface Platform {
  readonly os: string
  /** As images name it: `amd64`. */
  readonly arch: string
}

const arches: Readonly<Record<string, string>> = {
  x64: 'amd64',
  x86_64: 'amd64',
  'x86-64': 'amd64',
  aarch64: 'arm64',
}

/** The platform of this machine. */
export function hostPlatform(): Platform {
  return { os: 'linux', arch: archOf(arch()) }
}

/** Whether `--platform` names this platform: `linux/amd64`, `amd64`, `linux/arm64/v8`. */
export function isSamePlatform(wanted: string, host: Platform): boolean {
  const [first = '', second, third, ...more] = wanted.toLowerCase().split('/')
  if (more.length > 0) return false
  if (second === undefined) return first === host.os || archOf(first) === host.arch
  const variant = third ?? ''
  const standard = host.arch === 'arm64' ? 'v8' : 'v1'
  return first === host.os && archOf(second) === host.arch && (variant === '' || variant === standard)
}

function archOf(name: string): string {
  return Object.hasOwn(arches, name) ? (arches[name] ?? name) : name
}

/**
 * The arguments that every Dockerfile has; a stage sees one after it has declared it.
 * Source: docs.docker.com, Dockerfile reference, "Automatic platform ARGs in the global scope".
 */
export function platformArgs({ os, arch: machine }: Platform, target: string | null): readonly [string, string][] {
  return [
    ...['TARGET', 'BUILD'].flatMap((side): [string, string][] => [
      [`${side}PLATFORM`, `${os}/${machine}`],
      [`${side}OS`, os],
      [`${side}ARCH`, machine],
      [`${side}VARIANT`, ''],
    ]),
    ['TARGETSTAGE', target ?? 'default'],
  ]
}

/** Build arguments that steps have without declaring them, and that are in no image. */
export const predefinedBuildArgs: ReadonlySet<string> = new Set(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
)
