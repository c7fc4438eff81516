/** A pattern, part by part. */
export type Glob = readonly GlobPart[]

/** A part of a pattern. */
export type GlobPart =
  | { readonly type: 'char'; readonly char: string }
  /** `any` matches one character and `star` any number of them, but not the character `except`. */
  | { readonly type: 'any' | 'star'; readonly except: string }
  | CharClass
  /** Nothing, or a text that ends with a slash. */
  | { readonly type: 'folders' }

/** One character of a class such as `[a-z]` or `[^a-z]`. The ends of a range belong to it. */
export interface CharClass {
  readonly type: 'class'
  readonly negated: boolean
  readonly ranges: readonly (readonly [low: string, high: string])[]
}

/** Charges steps, and throws when none are left. This bounds patterns that are slow to match. */
export type Spend = (steps: number) => void

/** Returns true if a class has a character. */
export function hasChar({ ranges, negated }: CharClass, char: string): boolean {
  const code = codeOf(char)
  return ranges.some(([low, high]) => code >= codeOf(low) && code <= codeOf(high)) !== negated
}

/** Returns the number of a character in Unicode. */
export function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0
}

/** Returns the characters of a text. Without surrogate pairs they are its UTF-16 units. */
export function charsOf(text: string): ArrayLike<string> {
  return /[\ud800-\udfff]/.test(text) ? [...text] : text
}
