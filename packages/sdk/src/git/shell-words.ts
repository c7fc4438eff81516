/** Returns arguments as words of a POSIX shell. */
export function quoted(argv: readonly string[]): string {
  return argv.map((argument) => `'${argument.replaceAll("'", `'\\''`)}'`).join(' ')
}
