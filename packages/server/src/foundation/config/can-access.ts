import { access, constants } from 'node:fs/promises'

/** Returns true if this process can access a file in a mode of `constants`. Default: it exists. */
export async function canAccess(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
