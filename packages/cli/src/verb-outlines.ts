import { type CommandOutline, outlineOf } from './outline/outline-of.ts'
import { buildWholeProgram } from './whole-program.ts'

/** The outline of every verb. The bundle holds it as plain data, without the code of the verbs. */
export const verbOutlines: readonly CommandOutline[] = (await buildWholeProgram()).commands.map(outlineOf)
