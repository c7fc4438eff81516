/** Returns a text as one word of a shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns the command line of `sh` that runs a line in a login shell of bash. */
export function inLoginShell(line: string): string {
  return `exec /bin/bash -l -c ${shellWord(line)}`
}
