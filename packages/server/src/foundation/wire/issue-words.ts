import type { z } from 'zod'

/** The units in which the length of a text or a list is counted. */
const units: Readonly<Record<string, readonly [one: string, more: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
}

/** The words for values of a format. */
const formats: Readonly<Record<string, string>> = {
  datetime: 'a time such as 2030-01-01T12:00:00Z',
  url: 'a URL',
}

/**
 * Returns the fault of a value, as it follows its pointer: `must be at least 0.1`. Returns
 * undefined if the schema or its issue has a message already.
 */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'too_small': {
      const { minimum, origin, inclusive, exact } = issue
      if (units[origin] !== undefined && minimum === 1) return 'must not be empty'
      const bound = exact === true ? 'exactly' : inclusive === false ? 'more than' : 'at least'
      return mustBe(bound, minimum, origin)
    }
    case 'too_big': {
      const { maximum, origin, inclusive, exact } = issue
      return mustBe(exact === true ? 'exactly' : inclusive === false ? 'less than' : 'at most', maximum, origin)
    }
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_format': {
      const format = formats[issue.format]
      return format === undefined ? undefined : `must be ${format}`
    }
    default:
      return undefined
  }
}

function mustBe(bound: string, limit: number | bigint, origin: string): string {
  const unit = units[origin]
  if (unit === undefined) return `must be ${bound} ${limit}`
  return `must have ${bound} ${limit} ${unit[Number(limit) === 1 ? 0 : 1]}`
}

/**
 * The options with which requests are parsed. Messages are in these words if a schema has none of
 * its own. Issues carry their value, which distinguishes a missing field from one of a wrong type.
 */
export const requestParsing = { reportInput: true, error: wordsOf } as const
