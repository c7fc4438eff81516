import type { Platform } from '../image/platform.ts'

/**
 * Returns the arguments that every Dockerfile has. A stage sees one after it has declared it.
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

/** The build arguments that steps have without a declaration. They are in no image. */
export const predefinedBuildArgs: ReadonlySet<string> = new Set(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
)
