import { type DryRun, errorOfBody } from '@holt/sdk'
import type { Command } from 'commander'
import { reportError } from '../errors/report-error.ts'
import { printFields } from '../output/fields.ts'
import { say } from '../output/print.ts'
import { amountOf } from '../output/quota-lines.ts'
import { mib, printTable } from '../output/table.ts'

/** Prints the result that a create would have, and the quotas that limit it. */
export function printDryRun({ would_create, quotas, host, policy, problems: _, ...fields }: DryRun): void {
  const allowed = policy === null ? null : [...policy.allow.map(({ host: name }) => name), ...policy.include]
  const room = `${mib(host.memory_free_mib)} of memory, ${mib(host.disk_free_mib)} of disk`
  printFields({ would_create, ...fields, allowed: policy?.allow_all_hosts === true ? 'all hosts' : allowed, room })
  if (quotas.length === 0) return
  printTable(quotas, [
    ['QUOTA', ({ quota }) => quota],
    ['USED', ({ quota, used }) => amountOf(quota, used)],
    ['AFTER', ({ quota, after }) => amountOf(quota, after)],
    ['LIMIT', ({ quota, limit }) => amountOf(quota, limit)],
  ])
}

/**
 * Reports each reason why a create would be refused, then `refused`. Returns the exit code of the
 * command. Fields are named after the options of `command`.
 */
export function reportProblems(
  { problems, would_create }: DryRun,
  { command, refused }: { command: Command; refused: string },
): number {
  for (const problem of problems) reportError(errorOfBody(problem), command)
  say(`holt: ${would_create ? `the ${command.name()} would work; nothing was made` : refused}`)
  return would_create ? 0 : 1
}
