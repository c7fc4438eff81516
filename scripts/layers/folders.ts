import { dirname } from 'node:path'
import type { Import } from './sources.ts'

/**
 * The pairs of folders that may import each other, with the reasons. All other folders of a package
 * have an order: no chain of imports leads from a folder back to it. Imports of types count too.
 */
const bothWays: Readonly<Record<string, string>> = {
  'packages/server/src/foundation/store <-> packages/server/src/foundation/store/postgres':
    'the store opens one of two databases, and both implement its interface',
}

/** The most entries of `bothWays`. */
const mostBothWays = 5

/** The folders that each folder imports, with an example of each import. */
type Graph = Map<string, Map<string, Import>>

/** Returns a problem for each circle of folders, and for each wrong entry of `bothWays`. */
export function folderProblems(imports: readonly Import[]): readonly string[] {
  const graph = graphOf(imports)
  const pairs = Object.keys(bothWays)
  const unused = pairs.filter((pair) => !takeOut(graph, pair))
  return [
    ...circlesIn(graph).map(explain),
    ...unused.map((pair) => `scripts/layers/folders.ts: ${pair} no longer import each other: remove the entry`),
    ...(pairs.length > mostBothWays
      ? [`scripts/layers/folders.ts: at most ${mostBothWays} pairs of folders may import each other`]
      : []),
  ]
}

function graphOf(imports: readonly Import[]): Graph {
  const graph: Graph = new Map()
  for (const example of imports) {
    const [from, to] = [dirname(example.from), dirname(example.to)]
    if (from !== to) graph.set(from, (graph.get(from) ?? new Map<string, Import>()).set(to, example))
  }
  return graph
}

/** Removes both directions of a pair. Returns false if the graph did not have both. */
function takeOut(graph: Graph, pair: string): boolean {
  const [one = '', other = ''] = pair.split(' <-> ')
  const there = graph.get(one)?.delete(other) === true
  const back = graph.get(other)?.delete(one) === true
  return there && back
}

/** Returns circles of folders, each as its imports, shortest first. Empties the graph of them. */
function circlesIn(graph: Graph): readonly (readonly Import[])[] {
  const circles: (readonly Import[])[] = []
  for (let circle = shortestCircle(graph); circle !== null; circle = shortestCircle(graph)) {
    circles.push(circle)
    for (const { from, to } of circle) graph.get(dirname(from))?.delete(dirname(to))
  }
  return circles
}

function shortestCircle(graph: Graph): readonly Import[] | null {
  const circles = [...graph.keys()].map((folder) => wayBack(graph, folder)).filter((way) => way !== null)
  return circles.sort((one, other) => one.length - other.length)[0] ?? null
}

/** Returns the shortest chain of imports from a folder back to it, or null if there is none. */
function wayBack(graph: Graph, folder: string): readonly Import[] | null {
  const seen = new Set<string>()
  const ways: (readonly Import[])[] = [[]]
  for (const way of ways) {
    const last = way.at(-1)
    for (const [to, example] of graph.get(last === undefined ? folder : dirname(last.to)) ?? []) {
      if (to === folder) return [...way, example]
      if (!seen.has(to)) ways.push([...way, example])
      seen.add(to)
    }
  }
  return null
}

function explain(circle: readonly Import[]): string {
  const folders = circle.map(({ from }) => dirname(from)).join(', ')
  return `${folders} import each other: ${circle.map(({ from, to }) => `${from} imports ${to}`).join(', and ')}`
}
