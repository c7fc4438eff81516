/** Returns the last part of a clean path; `/` for the root. */
export function baseName(path: string): string {
  return path === '/' ? '/' : path.slice(path.lastIndexOf('/') + 1)
}
