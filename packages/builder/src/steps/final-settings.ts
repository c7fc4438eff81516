import type { BuildRequest, BuildSettings, FinalSettings } from '../contract/build-contract.ts'
import { BuildError } from '../errors.ts'
import { findUser } from '../image/find-user.ts'
import { splitEnv } from '../image/platform-keys.ts'

/**
 * Returns the settings of commands in the template's runtimes. The image's environment comes first,
 * without its platform keys. `kept` are the platform keys of the base template's runtimes, which no
 * line of a Dockerfile changes. The request's own `env` overrides both.
 */
export function finalSettings(
  settings: BuildSettings,
  request: Pick<BuildRequest, 'env'>,
  { user, kept }: { readonly user: string; readonly kept: Readonly<Record<string, string>> },
): FinalSettings {
  return {
    env: { ...splitEnv(settings.env, 'other'), ...kept, ...request.env },
    user,
    workdir: settings.workdir,
    labels: settings.labels,
    ports: settings.ports,
  }
}

/**
 * Returns true if a user has to be looked up in the image before a runtime can run anything as it.
 */
function needsLookup(user: string): boolean {
  return user !== '' && user !== 'root' && !/^\d{1,10}(?::\d{1,10})?$/.test(user)
}

/**
 * Returns the user of the template's runtimes. `read` returns a file of the image as text, or null
 * if there is none.
 */
export async function finalUser(user: string, read: (path: string) => Promise<string | null>): Promise<string> {
  if (user === '') return 'root'
  if (!needsLookup(user)) return user
  const [passwd, group] = [await read('/etc/passwd'), await read('/etc/group')]
  try {
    return findUser(user, { passwd, group })
  } catch (error) {
    throw new BuildError('unsupported_setting', `The user ${JSON.stringify(user.slice(0, 80))} is not in the image.`, {
      hint: 'Create it in a step (RUN useradd), or set another user with USER or user.',
      cause: error,
    })
  }
}
