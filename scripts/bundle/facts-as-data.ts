import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'rolldown'

/** The values of a module that are known when the bundle is made. */
type Facts = Readonly<Record<string, unknown>>

/**
 * Puts the values of modules into the bundle as plain data, instead of the code that makes them and
 * its imports. A module is named by its path, with the values to insert; null inserts the module's
 * own values. They must be valid JSON.
 */
export function keepFactsAsData(root: string, modules: Readonly<Record<string, Facts | null>>): Plugin {
  return {
    name: 'keep-facts-as-data',
    async load(id) {
      const file = relative(root, id)
      const given = modules[file]
      if (given === undefined) return null
      const facts = given ?? ((await import(pathToFileURL(id).href)) as Facts)
      const lines = Object.entries(facts).map(
        ([name, value]) => `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(value))})`,
      )
      return { code: lines.join('\n'), moduleType: 'js', moduleSideEffects: false }
    },
  }
}
