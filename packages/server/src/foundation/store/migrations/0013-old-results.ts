/**
 * Removes cached results of builds with a checkpoint, unless a template with a `start_cmd` uses it.
 * Earlier versions took one of every build, and nothing uses those of builds without a `start_cmd`.
 * The entry does not tell the two apart. A removed one of an application is made again by the next
 * build, which repeats only the start of the application.
 */
export const oldResults = `
DELETE FROM build_cache
WHERE type = 'checkpoint'
  AND facts_json LIKE '%"checkpoint":{%'
  AND NOT EXISTS (
    SELECT 1 FROM templates
    WHERE templates.checkpoint_id = build_cache.checkpoint_id AND templates.start_cmd IS NOT NULL
  );
`
