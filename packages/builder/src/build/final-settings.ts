import { findUser } from '../image/find-user.ts'
import { BuildError, type BuildRequest, type BuildSettings, type FinalSettings } from './contract.ts'

/** Variables that say who a process is, and where: a runtime sets its own. */
const skipped: ReadonlySet<string> = new Set(['PATH', 'HOME', 'HOSTNAME', 'SHELL', 'USER', 'LOGNAME'])

/** The variables that a template's runtimes have though those of a container image would be left out. */
export function keptOf(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => skipped.has(name))
    .sort()
}

/** What commands in the template's runtimes have: what the image says, and above it what the request does. `kept` are those of `keptOf` the template that it is built on. */
export function finalSettings(
  settings: BuildSettings,
  request: Pick<BuildRequest, 'env'>,
  { user, kept }: { readonly user: string; readonly kept: readonly string[] },
): FinalSettings {
  const fromImage = Object.entries(settings.env).filter(([name]) => !skipped.has(name) || kept.includes(name))
  return {
    env: Object.fromEntries([...fromImage, ...Object.entries(request.env)]),
    user,
    workdir: settings.workdir,
    labels: settings.labels,
    ports: settings.ports,
  }
}

/** Whether a user has to be looked up in the image before a runtime can run anything as it. */
function needsLookup(user: string): boolean {
  return user !== '' && user !== 'root' && !/^\d{1,10}(?::\d{1,10})?$/.test(user)
}

/** The user of the template's runtimes; `read` answers a file of the image as text, null where it has none. */
export async function finalUser(user: string, read: (path: string) => Promise<string | null>): Promise<string> {
  if (user === '') return 'root'
  if (!needsLookup(user)) return user
  const [passwd, group] = [await read('/etc/passwd'), await read('/etc/group')]
  try {
    return findUser(user, { passwd, group })
  } catch (error) {
    throw new BuildError('unsupported_setting', `The user ${JSON.stringify(user.slice(0, 80))} is not in the image.`, {
      hint: 'Make it in a step (RUN useradd), or name another one with USER or user.',
      cause: error,
    })
  }
}
