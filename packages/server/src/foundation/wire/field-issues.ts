import { type ErrorCode, type FieldIssue, HoltError } from '@holt/protocol'
import type { z } from 'zod'

/** The maximum number of wrong fields that one error names. */
const maxIssues = 100
const maxPointerLength = 300

/**
 * Turns the faults that schemas found into fields and reasons, one for each unknown field as well.
 * Stops at `maxIssues`: a body may have 40,000 wrong values.
 */
function fieldIssues(errors: Parameters<typeof invalidRequest>[0]): readonly FieldIssue[] {
  const found: FieldIssue[] = []
  for (const { error, prefix } of errors) {
    for (const issue of error.issues) {
      found.push(...describe(issue, prefix))
      if (found.length >= maxIssues) return found.slice(0, maxIssues)
    }
  }
  return found
}

/**
 * Returns the one error for everything wrong in a request. Its code is `invalid_path` if only paths
 * are wrong, and `invalid_request` otherwise.
 */
export function invalidRequest(
  errors: readonly { readonly error: z.ZodError; readonly prefix: '' | '/query' | '/path' }[],
): HoltError {
  const issues = fieldIssues(errors)
  const code: ErrorCode = errors.every(({ error }) => error.issues.every(isPathIssue))
    ? 'invalid_path'
    : 'invalid_request'
  const named = issues.map(({ pointer, message }) => `${pointer || 'the body'} ${message}`).join('; ')
  return new HoltError(code, `The request is not valid: ${named.slice(0, 2000)}.`, { details: { issues } })
}

/** Returns the error for a single wrong field. */
export function invalidField(pointer: string, message: string): HoltError {
  return new HoltError('invalid_request', `The request is not valid: ${pointer || 'the body'} ${message}.`, {
    details: { issues: [{ pointer, message }] },
  })
}

function isPathIssue(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.error === 'invalid_path'
}

function describe(issue: z.core.$ZodIssue, prefix: string): FieldIssue[] {
  const at = (...more: PropertyKey[]) => pointerOf(prefix, [...issue.path, ...more])
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, maxIssues).map((key) => ({ pointer: at(key), message: 'is not a known field' }))
    case 'invalid_key':
      return [{ pointer: at(), message: issue.issues[0]?.message ?? 'is not a valid name' }]
    case 'invalid_type':
      return [
        {
          pointer: at(),
          message:
            issue.input === undefined
              ? `is required: ${article(issue.expected)}`
              : `must be ${article(issue.expected)}`,
        },
      ]
    case 'invalid_union':
      return ofClosest(issue, prefix)
    case 'invalid_value':
      return [{ pointer: at(), message: `must be ${allowedOf(issue)}` }]
    default:
      return [{ pointer: at(), message: lowerFirst(issue.message) }]
  }
}

/** The faults of a value that has not the type of a schema, or that is none of its few values. */
const otherShapes: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

/** The message that zod gives a union without words of its own. */
const noWords = 'Invalid input'

/**
 * Returns the faults of a value with several allowed shapes: those of the shape that it matches
 * best, or else the words of the schema, or the allowed shapes.
 */
function ofClosest(issue: z.core.$ZodIssueInvalidUnion, prefix: string): FieldIssue[] {
  const isOther = ({ code, path }: z.core.$ZodIssue) => otherShapes.has(code) && path.length === 0
  const [closest, ...others] = issue.errors.filter((issues) => !issues.some(isOther))
  if (closest !== undefined && others.length === 0)
    return closest
      .slice(0, maxIssues)
      .flatMap((inner) => describe({ ...inner, path: [...issue.path, ...inner.path] }, prefix))
  const pointer = pointerOf(prefix, issue.path)
  if (issue.discriminator !== undefined) return [{ pointer, message: 'must be one of the types of this object' }]
  if (issue.message !== noWords) return [{ pointer, message: issue.message }]
  const allowed = issue.errors.flatMap((issues) => issues.filter(isOther).map(allowedOf))
  return [{ pointer, message: `must be ${allowed.join(' or ') || 'of another form'}` }]
}

/** Returns the words for the values that a schema allows. */
function allowedOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return article(issue.expected)
  return issue.code === 'invalid_value' ? issue.values.map(String).join(' or ') : 'of another form'
}

function article(type: string): string {
  if (type === 'int') return 'a whole number'
  if (type === 'null') return 'null'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** Returns a JSON pointer (RFC 6901). */
function pointerOf(prefix: string, path: readonly PropertyKey[]): string {
  const pointer = path
    .map((part) => `/${String(part).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
  return `${prefix}${pointer}`.slice(0, maxPointerLength)
}
