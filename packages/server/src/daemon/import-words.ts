import type { ServerConfig } from '../foundation/config/config.ts'
import type { ImportResult } from './transfer.ts'

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
  const lines = [`took in ${rows} rows of schema ${schema}`]
  if (lacking.length > 0) {
    lines.push(
      `missing in ${stateDir}: the files of ${lacking.join(', ')}`,
      'Copy images/ and checkpoints/ of the state directory that the rows come from before the service starts; it says of each snapshot and template what it lacks.',
    )
  }
  if (disabledWebhooks > 0) {
    lines.push(
      `disabled: ${countOf(disabledWebhooks, 'webhook')}, so that nobody outside hears of what may be a copy`,
      'Where this installation is the one that is to send: holt webhook set ID --enable (or import with --keep-webhooks).',
    )
  }
  return `${lines.join('\n')}\n`
}

function countOf(count: number, what: string): string | null {
  if (count === 0) return null
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
