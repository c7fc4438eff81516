import { z } from 'zod'

/** The maximum number of bytes of a path, as Linux counts PATH_MAX. */
export const maxPathBytes = 4096

/**
 * Returns the canonical path for a string, or the reason why there is none. A path is absolute,
 * without NUL, `.` or `..`. Doubled and trailing slashes are removed.
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
 * The schema of an absolute path inside a runtime. It parses to the canonical form. A wrong path is
 * the error `invalid_path`.
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
