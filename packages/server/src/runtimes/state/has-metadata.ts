import { Text } from '@holt/protocol'
import { type SqlBool, sql } from 'kysely'
import type { Store } from '../../foundation/store/open-store.ts'

/**
 * Returns the condition for runtimes whose metadata has a key with exactly this value. The database
 * parses the JSON, so keys and values may have any text. Only rows that contain the text of the
 * entry are parsed, so that a damaged row fails no list.
 */
export function hasMetadata({ type }: Pick<Store, 'type'>, key: string, value: string) {
  // No stored text is like that, and PostgreSQL takes none as a parameter.
  if (!Text.safeParse(key).success || !Text.safeParse(value).success) return sql<SqlBool>`1 = 0`
  const entry = `${JSON.stringify(key)}:${JSON.stringify(value)}`
  const found =
    type === 'sqlite'
      ? sql<SqlBool>`EXISTS (SELECT 1 FROM json_each(metadata_json) AS entry WHERE entry.key = ${key} AND entry.value = ${value})`
      : sql<SqlBool>`metadata_json::json ->> ${key}::text = ${value}::text`
  return sql<SqlBool>`CASE WHEN replace(metadata_json, ${entry}, '') <> metadata_json THEN ${found} ELSE 1 = 0 END`
}
