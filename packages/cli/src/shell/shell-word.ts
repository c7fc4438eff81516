/**
 * Matches words that every shell takes literally, at any place of a line. Options, `~` and `=word`
 * are excluded.
 */
const plainWord = /^[A-Za-z0-9_./:@+,][A-Za-z0-9_./:@+,=-]*$/

/** The longest word that is offered. Longer paths exist, but completing them is not useful. */
const maxLength = 1024

/** Returns true if a shell takes a word literally, without quotes. */
export function isPlainWord(word: string): boolean {
  return word.length <= maxLength && plainWord.test(word)
}

/** Quotes a word for a POSIX shell. A plain word stays unchanged. */
export function shellWord(word: string): string {
  return isPlainWord(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
