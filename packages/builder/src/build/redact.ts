import { SecretMatcher } from './secret-matcher.ts'

/**
 * Parts of a secret of several lines count by themselves from this length on: a shorter line may be
 * anything.
 */
const MIN_PART_LENGTH = 8

/**
 * No text that is looked at is longer: of a longer value its lines are found, and of a longer line
 * its pieces.
 */
const MAX_PART_LENGTH = 8 * 1024

const PUT_IN = '********'

/** Takes secret values out of text. Values reach no log, no message and no error. */
export class Redactor {
  readonly #matcher: SecretMatcher

  constructor(secrets: readonly string[]) {
    this.#matcher = new SecretMatcher(partsOf(secrets, MIN_PART_LENGTH))
  }

  redact(text: string): string {
    return this.#matcher.replace(text, PUT_IN)
  }

  /**
   * How much of a text's end may be the beginning of a value, which what follows would complete.
   */
  openEnd(text: string): number {
    return this.#matcher.openEnd(text)
  }
}

/**
 * What of secrets is looked for: each as a whole, and the lines of those with several that are long
 * enough.
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
