/** The route of the tab. */
export const filesRoute = '/runtimes/$runtimeId/files'

/** The parts of the tab's address. A reload shows the same. */
interface FilesSearch {
  /** The directory. Default: the first one that there is of `/workspace` and `/`. */
  readonly path?: string
  /** The file that is open. */
  readonly open?: string
  /** True if hidden files are shown. */
  readonly hidden?: true
}

/** Reads the address of the tab. */
export function filesSearch({ path, open, hidden }: Readonly<Record<string, unknown>>): FilesSearch {
  return {
    ...(isPath(path) ? { path } : {}),
    ...(isPath(open) ? { open } : {}),
    ...(hidden === true ? { hidden } : {}),
  }
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('/')
}
