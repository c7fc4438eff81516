import { arch } from 'node:os'

/** The operating system and the processor that programs are made for. */
export interface Platform {
  readonly os: string
  /** The name of the architecture in images: `amd64`. */
  readonly arch: string
}

const arches: Readonly<Record<string, string>> = {
  x64: 'amd64',
  x86_64: 'amd64',
  'x86-64': 'amd64',
  aarch64: 'arm64',
}

/** Returns the platform of this machine. */
export function hostPlatform(): Platform {
  return { os: 'linux', arch: archOf(arch()) }
}

/** The architecture of this machine, by its name in images. */
export const hostArchitecture: string = hostPlatform().arch

/** Returns true if `--platform` names this platform: `linux/amd64`, `amd64`, `linux/arm64/v8`. */
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
