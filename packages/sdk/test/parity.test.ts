import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApi } from '@holt/protocol'
import { expect, test } from 'vitest'

const source = join(import.meta.dirname, '../src')

/** The routes that are for browsers, for tools, and for those who verify tokens. */
const forOthers = ['openapi', 'docs', 'openIdConfiguration', 'jsonWebKeys']

/** The fields that are no options of this client, with the reason. */
const notNeeded: Readonly<Record<string, string>> = {
  'resizeTerminal cols': 'a TerminalSize is passed on as a whole',
  'resizeTerminal rows': 'a TerminalSize is passed on as a whole',
}

/** The files that write the fields of a route whose name stands in another file. */
const writers: Readonly<Record<string, readonly string[]>> = {
  attachCommand: ['terminal/terminal.ts'],
  uploadContext: ['template/context-upload.ts'],
}

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>
  }
}

const description = openApi('1') as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> }
}
const operations = Object.values(description.paths).flatMap((methods) => Object.values(methods))

async function sources(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const name of glob('**/*.ts', { cwd: source })) found.set(name, await readFile(join(source, name), 'utf8'))
  return found
}

test('every route of the service is called', async () => {
  const text = [...(await sources()).values()].join('\n')
  const uncalled = operations.map(({ operationId }) => operationId).filter((name) => !text.includes(`'${name}'`))
  expect(operations.length).toBeGreaterThan(100)
  expect(uncalled.sort()).toEqual(forOthers.toSorted())
})

test('every field of a request is used in the call of its route', async () => {
  const files = await sources()
  const all = [...files.values()].join('\n')
  const missing = operations.flatMap((operation) => {
    const { operationId } = operation
    if (forOthers.includes(operationId)) return []
    const calling = [...files].filter(
      ([name, text]) => writers[operationId]?.includes(name) || text.includes(`'${operationId}'`),
    )
    const words = new Set(calling.flatMap(([, text]) => text.match(/\w+/g) ?? []))
    return fieldsOf(operation, all)
      .filter((field) => !words.has(field) && notNeeded[`${operationId} ${field}`] === undefined)
      .map((field) => `${operationId} ${field}`)
  })
  expect(missing).toEqual([])
})

test('every route that takes If-Match is called with the etag of a caller', async () => {
  const files = [...(await sources()).values()]
  const conditional = operations.filter(({ parameters }) => parameters.some(({ in: place }) => place === 'header'))
  expect(conditional.length).toBeGreaterThan(5)
  for (const { operationId } of conditional) {
    const calling = files.filter((text) => text.includes(`'${operationId}'`))
    expect(
      calling.some((text) => /ifMatch|ChangeOptions/.test(text)),
      operationId,
    ).toBe(true)
  }
})

/**
 * Returns the fields that a caller may give. A body that is passed on as a whole has all of them.
 */
function fieldsOf({ parameters, requestBody }: Operation, all: string): string[] {
  const query = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  const id = requestBody?.content['application/json']?.schema?.$ref?.split('/').at(-1)
  if (id === undefined || all.includes(`${id}Input`)) return query
  return [...query, ...Object.keys(description.components.schemas[id]?.properties ?? {})]
}
