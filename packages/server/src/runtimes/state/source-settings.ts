import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { TemplateCommands } from '../../resources/templates/template-commands.ts'

/**
 * The settings that a runtime takes from its source, without size, user and directory. The
 * runtime's row keeps them, because the template can change or disappear before a resume, a fork or
 * a checkpoint.
 */
export interface SourceSettings {
  readonly env: Readonly<Record<string, string>>
  readonly commands: TemplateCommands
}

/** Returns the settings that a runtime took from its source. */
export function sourceSettingsOf({ source_json }: Pick<RuntimeRow, 'source_json'>): SourceSettings {
  return JSON.parse(source_json)
}

/** Returns the text that `sourceSettingsOf` parses. */
export function sourceSettingsText({ env, commands }: SourceSettings): string {
  return JSON.stringify({ env, commands })
}
