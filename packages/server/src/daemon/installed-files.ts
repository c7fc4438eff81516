import { fileURLToPath } from 'node:url'

/** The directory of the base templates' recipe. */
export const baseRecipeDir = fileURLToPath(new URL('../../../../templates/base', import.meta.url))

/** The directory of the agent templates. */
export const agentTemplatesDir = fileURLToPath(new URL('../../../../templates/agents', import.meta.url))

/** The guest program, where the build puts it. */
export const builtGuest = fileURLToPath(new URL('../../../../guest/holt-guest', import.meta.url))
