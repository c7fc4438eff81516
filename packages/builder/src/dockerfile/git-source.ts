/** Returns true if a source of ADD is an address, which is fetched. */
export function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

/** Returns true if a source of ADD is a Git repository, which is not supported. */
export function isGitSource(source: string): boolean {
  if (/^(?:git|ssh):\/\//i.test(source) || /^[\w.-]+@[\w.-]+:/.test(source)) return true
  return isAddress(source) && /\.git$/i.test(source.replace(/[?#].*$/s, ''))
}

/** The refusal of ADD of a repository. */
export const gitRefusal = {
  message: 'ADD of a Git repository is not supported.',
  fix: 'Fetch an archive of it by its URL, send it with the context, or clone it in a RUN.',
}
