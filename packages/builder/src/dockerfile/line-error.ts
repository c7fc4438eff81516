/**
 * The error of one instruction: it is wrong, or it is right and not supported here. It never leaves
 * this folder.
 */
export class LineError extends Error {
  override readonly name = 'LineError'
  readonly kind: 'invalid' | 'unsupported'
  /** The advice on what to do instead. */
  readonly fix: string | null
  constructor(kind: 'invalid' | 'unsupported', message: string, fix: string | null = null) {
    super(message)
    this.kind = kind
    this.fix = fix
  }
}

/** Returns the error for a line that no Dockerfile may have. */
export function wrong(message: string, fix: string | null = null): LineError {
  return new LineError('invalid', message, fix)
}

/** Returns the error for a line that is not supported. */
export function unsupported(message: string, fix: string): LineError {
  return new LineError('unsupported', message, fix)
}

/** Returns a text on one line, shortened, for people. */
export function shown(text: string, length = 200): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > length ? `${line.slice(0, length)}...` : line
}
