import { posix } from 'node:path'
import { BuilderError } from '../errors.ts'
import { findUser } from './find-user.ts'
import { platformKeys } from './platform-keys.ts'
import type { ImageConfig } from './read-layout.ts'

/**
 * The settings of runtimes from an image. ENTRYPOINT and CMD of the image are omitted, because a
 * runtime starts nothing by itself.
 */
export interface ImageSettings {
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  /** An absolute path. */
  readonly workdir: string
}

/**
 * The maximum size of the environment in bytes. Every process of a runtime gets all of it, and
 * execve(2) accepts no more for one variable.
 */
const MAX_ENV_BYTES = 128 * 1024

/**
 * Reads the settings of runtimes from an image's configuration. `read` returns a file of its tree
 * as text.
 */
export async function settingsOf(
  config: ImageConfig,
  read: (path: string) => Promise<string | null>,
): Promise<ImageSettings> {
  const [passwd, group] = [await read('/etc/passwd'), await read('/etc/group')]
  return {
    env: environmentOf(config.env, platformKeys),
    user: findUser(config.user, { passwd, group }),
    workdir: workdirOf(config.workdir),
  }
}

/** Returns the environment of a configuration without the variables in `leftOut`. */
export function environmentOf(lines: readonly string[], leftOut: ReadonlySet<string>): Record<string, string> {
  const env: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value] = /^([^=\0]+)=([^\0]*)$/s.exec(line) ?? []
    if (name !== undefined && value !== undefined && !leftOut.has(name)) Object.defineProperty(env, name, own(value))
  }
  if (Buffer.byteLength(JSON.stringify(env)) > MAX_ENV_BYTES)
    throw new BuilderError('image_too_large', `The image's environment has more than ${MAX_ENV_BYTES} bytes.`)
  return env
}

/** Returns the descriptor of an own property. It also works for the name `__proto__`. */
function own(value: string): PropertyDescriptor {
  return { value, enumerable: true, configurable: true, writable: true }
}

/**
 * Returns the working directory, relative to the root as container engines read it, and never above
 * it.
 */
export function workdirOf(workdir: string): string {
  if (workdir.includes('\0') || Buffer.byteLength(workdir) > 4096)
    throw new BuilderError('image_invalid', "The image's WORKDIR is not a path.")
  return posix.resolve('/', workdir)
}
