import type { Plugin } from 'rolldown'

const contract = /\/packages\/protocol\/src\/.*\.ts$/

/** Values that a bundler knows to be free of side effects. */
const plain: ReadonlySet<string> = new Set(['Literal', 'TemplateLiteral', 'ArrowFunctionExpression'])

/**
 * Leaves unused schemas out of a bundle. A bundler keeps calls, because they may have side effects.
 * The modules of the contract only make values, so each value of theirs is marked as free of side
 * effects.
 */
export function dropUnusedSchemas(): Plugin {
  return {
    name: 'drop-unused-schemas',
    transform: {
      filter: { id: contract },
      handler(code) {
        const values = this.parse(code, { lang: 'ts' }).body.flatMap((statement) => {
          const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
          if (declaration?.type !== 'VariableDeclaration') return []
          return declaration.declarations.flatMap(({ init }) => (init === null || plain.has(init.type) ? [] : [init]))
        })
        // From the last to the first, so that earlier positions stay valid.
        return values.reduceRight((text, { start, end }) => {
          return `${text.slice(0, start)}/* @__PURE__ */ (() => (${text.slice(start, end)}))()${text.slice(end)}`
        }, code)
      },
    },
  }
}
