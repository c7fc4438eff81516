import { z } from 'zod'

/** Texts in a query: a repeated field, or values separated by commas. */
export const queryTexts = z
  .union([z.string(), z.array(z.string())])
  .transform((given) => [given].flat().flatMap((text) => text.split(',')))
