import type { RuntimeRow } from '../store/tables.ts'
import type { TemplateCommands } from '../templates/start-command.ts'

/**
 * What a runtime has of its source beside its size, its user and its working directory. It is kept
 * with the runtime's row: by the time the runtime is resumed, forked or written down, its template
 * may be another one or gone.
 */
export interface SourceSettings {
  readonly env: Readonly<Record<string, string>>
  readonly commands: TemplateCommands
}

/** What a runtime has of its source. */
export function sourceSettingsOf({ source_json }: Pick<RuntimeRow, 'source_json'>): SourceSettings {
  return JSON.parse(source_json)
}

/** The text that `sourceSettingsOf` reads. */
export function sourceSettingsText({ env, commands }: SourceSettings): string {
  return JSON.stringify({ env, commands })
}
