/**
 * One instruction cannot be followed: it is wrong, or it is right and not offered here. Never
 * leaves this folder.
 */
export class LineError extends Error {
  override readonly name = 'LineError'
  readonly kind: 'invalid' | 'unsupported'
  /** What to do instead. */
  readonly fix: string | null
  constructor(kind: 'invalid' | 'unsupported', message: string, fix: string | null = null) {
    super(message)
    this.kind = kind
    this.fix = fix
  }
}

/** The line is no Dockerfile. */
export function wrong(message: string, fix: string | null = null): LineError {
  return new LineError('invalid', message, fix)
}

/** The line asks for what is not offered. */
export function unsupported(message: string, fix: string): LineError {
  return new LineError('unsupported', message, fix)
}

/** A text on one line, shortened, for people. */
export function shown(text: string, length = 200): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > length ? `${line.slice(0, length)}...` : line
}
