import { modePattern } from '@holt/protocol'

/** The hint for a mode that is not valid. */
export const modeHint = 'Write an octal mode like --chmod=755, or a symbolic one like --chmod=u+rwX,g=r.'

/** Returns true for a mode as chmod(1) takes it: octal digits or symbolic clauses. */
export function isMode(text: string): boolean {
  return text.length <= 256 && modePattern.test(text)
}
