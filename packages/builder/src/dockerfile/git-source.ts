/** Whether a source of ADD is fetched. */
export function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

/** Whether a source of ADD is a Git repository, which is not offered. */
export function isGitSource(source: string): boolean {
  if (/^(?:git|ssh):\/\//i.test(source) || /^[\w.-]+@[\w.-]+:/.test(source)) return true
  return isAddress(source) && /\.git$/i.test(source.replace(/[?#].*$/s, ''))
}

/** What is said of ADD of a repository. */
export const gitRefusal = {
  message: 'ADD of a Git repository is not offered.',
  fix: 'Fetch an archive of it by its address, send it with the context, or clone it in a RUN.',
}
