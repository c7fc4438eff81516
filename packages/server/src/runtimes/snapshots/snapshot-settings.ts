import type { TemplateBase } from '@holt/builder'
import type { SyntheticAddress } from '@holt/egress'
import type { SnapshotRow } from '../../foundation/store/tables.ts'
import type { SourceSettings } from '../state/source-settings.ts'

/**
 * The settings of a snapshot for the runtimes and builds that start from it. They do not include
 * the values of secrets.
 */
export interface SnapshotSettings extends SourceSettings {
  readonly user: string
  readonly workdir: string
  /** The initial settings of a build on its files. */
  readonly build: TemplateBase['settings']
  /** The placeholders by the ids of their secrets. */
  readonly placeholders: Readonly<Record<string, string>>
  readonly addresses: readonly SyntheticAddress[]
  /**
   * The certificate of the authority that its programs trust. The key is sealed under the
   * snapshot's id.
   */
  readonly caCertificate: string | null
}

/** Returns the settings of a ready snapshot. */
export function snapshotSettingsOf({ settings_json }: Pick<SnapshotRow, 'settings_json'>): SnapshotSettings {
  return JSON.parse(settings_json)
}
