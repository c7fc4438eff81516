import { type BuildLogsQuery, isAtLeast, type StatusQuery } from '@holt/e2b'
import type { LoggedLine } from '../../builds/build-log.ts'
import type { BuildRef } from '../../builds/find-build.ts'
import type { ControlCall } from './control-call.ts'

type Service = Pick<ControlCall<unknown, unknown>['service'], 'builds'>

/** The lines of a log that are read at once, to find those that a query wants. */
const pageLines = 100

/** Returns the lines of at least a level, after an offset that counts such lines alone. */
export async function linesAfter(
  { builds: { logs } }: Service,
  of: BuildRef,
  { logsOffset, limit, level }: StatusQuery,
): Promise<readonly LoggedLine[]> {
  if (level === 'debug') return (await logs.read(of, { after: logsOffset, limit })).map(({ line }) => line)
  const found: LoggedLine[] = []
  for (let after = 0, left = logsOffset; ; ) {
    const page = await logs.read(of, { after, limit: pageLines })
    for (const { line, cursor } of page) {
      after = cursor
      if (isAtLeast(line.level, level) && left-- <= 0) found.push(line)
      if (found.length === limit) return found
    }
    if (page.length < pageLines) return found
  }
}

/** Returns the lines from a moment on, oldest first, or before it, newest first. */
export async function linesFrom(
  { builds: { logs } }: Service,
  of: BuildRef,
  { cursor: moment, limit, direction, level }: BuildLogsQuery,
): Promise<readonly LoggedLine[]> {
  const isForward = direction === 'forward'
  const isThere = ({ at }: LoggedLine) =>
    moment === undefined || (isForward ? Date.parse(at) >= moment : Date.parse(at) <= moment)
  const found: LoggedLine[] = []
  for (let at = isForward ? 0 : Number.MAX_SAFE_INTEGER; found.length < limit; ) {
    const page = isForward
      ? await logs.read(of, { after: at, limit: pageLines })
      : await logs.readBack(of, { before: at, limit: pageLines })
    found.push(...page.map(({ line }) => line).filter((line) => isAtLeast(line.level, level) && isThere(line)))
    const last = page.at(-1)
    if (last === undefined || page.length < pageLines) break
    at = last.cursor
  }
  return found.slice(0, limit)
}
