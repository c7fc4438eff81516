import { writeFile } from 'node:fs/promises'
import { settingsPage } from '../packages/server/src/foundation/config/settings-page.ts'

/** Writes docs/settings.md from the schema of the settings. */
await writeFile(new URL('../docs/settings.md', import.meta.url), settingsPage())
