import type { ServerConfig } from '../foundation/config/config.ts'
import type { ImportResult } from './export-import.ts'

/**
 * Returns the report of an import: the imported rows, the missing files, and the disabled webhooks.
 */
export function wordsOf(
  { rows, schema, missing, disabledWebhooks }: ImportResult,
  { stateDir }: Pick<ServerConfig, 'stateDir'>,
): string {
  const lacking = [
    countOf(missing.snapshots, 'snapshot'),
    countOf(missing.templates, 'template'),
    countOf(missing.runtimes, 'paused runtime'),
  ].filter((words) => words !== null)
  const lines = [`imported ${rows} rows of schema ${schema}`]
  if (lacking.length > 0) {
    lines.push(
      `missing in ${stateDir}: the files of ${lacking.join(', ')}`,
      'Copy images/ and checkpoints/ from the original state directory before the service starts. The service lists the missing files of each snapshot and template.',
    )
  }
  if (disabledWebhooks > 0) {
    lines.push(
      `disabled: ${countOf(disabledWebhooks, 'webhook')}, because this store may be a copy`,
      'If this installation must send them: holt webhook set ID --enable (or import with --keep-webhooks).',
    )
  }
  return `${lines.join('\n')}\n`
}

function countOf(count: number, what: string): string | null {
  if (count === 0) return null
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
