import { PolicyBody } from '@holt/protocol'
import { z } from 'zod'
import { storedJson } from '../foundation/store/stored-json.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import type { PreparedBuild } from './prepare-build.ts'

/** The parts of a build that taking its template's checkpoint needs beside the template's row. */
const CheckpointRecipe = z.object({
  /** The network policy while `start_cmd` starts. Null: no network. */
  policy: PolicyBody.nullable(),
  ready_timeout_ms: z.number().int().min(0),
})

/** A stored recipe. */
export type CheckpointRecipe = z.output<typeof CheckpointRecipe>

/** Returns the recipe of a build, as its template stores it. */
export function recipeOf({ policy, request }: PreparedBuild): string {
  return JSON.stringify({ policy, ready_timeout_ms: request.ready_timeout_secs * 1000 } satisfies CheckpointRecipe)
}

/**
 * Returns the recipe of a template's checkpoint. Null if it is not known: an earlier version of
 * Holt built the template.
 */
export function storedRecipe({
  checkpoint_recipe_json,
}: Pick<TemplateRow, 'checkpoint_recipe_json'>): CheckpointRecipe | null {
  if (checkpoint_recipe_json === null) return null
  return CheckpointRecipe.safeParse(storedJson(checkpoint_recipe_json)).data ?? null
}
