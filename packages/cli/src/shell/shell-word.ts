/** Words that every shell takes as they stand, wherever they are on the line. An option, `~` and `=word` are none. */
const plainWord = /^[A-Za-z0-9_./:@+,][A-Za-z0-9_./:@+,=-]*$/

/** The longest word that is offered. A path can be longer, and nobody would complete it. */
const maxLength = 1024

/** True if a shell takes a word as it stands, without quotes. */
export function isPlainWord(word: string): boolean {
  return word.length <= maxLength && plainWord.test(word)
}

/** Returns a word as it is typed in a POSIX shell. A plain word stays as it is. */
export function shellWord(word: string): string {
  return isPlainWord(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
