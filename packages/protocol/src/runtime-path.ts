import { z } from 'zod'

/** The most bytes a path may have, as Linux counts PATH_MAX. */
export const maxPathBytes = 4096

/**
 * Decides what path a string names, once: absolute, without NUL, `.` or `..`, doubled and trailing
 * slashes folded away. Answers the canonical path, or why there is none.
 */
export function canonicalPath(text: string): { readonly path: string } | { readonly problem: string } {
  if (text.includes('\0')) return { problem: 'must not contain NUL' }
  if (!text.isWellFormed()) return { problem: 'must be well-formed Unicode' }
  if (!text.startsWith('/')) return { problem: 'must be absolute: begin with /' }
  if (new TextEncoder().encode(text).length > maxPathBytes) return { problem: `must be at most ${maxPathBytes} bytes` }
  const parts = text.split('/').filter((part) => part !== '')
  if (parts.some((part) => part === '.' || part === '..')) return { problem: 'must not contain . or .. as a part' }
  if (parts.some((part) => new TextEncoder().encode(part).length > 255))
    return { problem: 'must have parts of at most 255 bytes' }
  return { path: `/${parts.join('/')}` }
}

/**
 * The schema of an absolute path inside a runtime; parses to its canonical form. A wrong one is the
 * error `invalid_path`.
 */
export const RuntimePath = z
  .string()
  .transform((text, context) => {
    const result = canonicalPath(text)
    if ('path' in result) return result.path
    context.addIssue({ code: 'custom', message: result.problem, params: { error: 'invalid_path' } })
    return z.NEVER
  })
  .meta({ description: 'An absolute path inside the runtime.', examples: ['/workspace/example'] })
