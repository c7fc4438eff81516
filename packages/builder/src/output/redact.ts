import { SecretMatcher } from './secret-matcher.ts'

/**
 * The minimum length of a line of a secret that is redacted by itself. A shorter line could occur
 * by chance in any output.
 */
const MIN_PART_LENGTH = 8

/**
 * The maximum length of a text that is searched for. A longer value is found by its lines, and a
 * longer line by its pieces.
 */
const MAX_PART_LENGTH = 8 * 1024

const PUT_IN = '********'

/** Removes secret values from text, so that they reach no log, no message and no error. */
export class Redactor {
  readonly #matcher: SecretMatcher

  constructor(secrets: readonly string[]) {
    this.#matcher = new SecretMatcher(partsOf(secrets, MIN_PART_LENGTH))
  }

  redact(text: string): string {
    return this.#matcher.replace(text, PUT_IN)
  }

  /**
   * Returns the length of the text's end that may be the beginning of a value. Later text could
   * complete it.
   */
  openEnd(text: string): number {
    return this.#matcher.openEnd(text)
  }
}

/**
 * Returns the texts to search for: each secret, and the lines of a secret that are long enough.
 * Longer texts are split into pieces.
 */
export function partsOf(secrets: readonly string[], minLength: number): ReadonlySet<string> {
  const parts = new Set<string>()
  for (const secret of secrets) {
    const lines = secret.split(/\r\n|\n|\r/).filter((line) => line.length >= minLength)
    for (const part of [...(secret.length <= MAX_PART_LENGTH ? [secret] : []), ...lines])
      for (const text of [part, part.trim()])
        for (let from = 0; from < text.length; from += MAX_PART_LENGTH) {
          const piece = text.slice(from, from + MAX_PART_LENGTH)
          if (from === 0 || piece.length >= minLength) parts.add(piece)
        }
  }
  return parts
}
