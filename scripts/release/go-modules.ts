import { join } from 'node:path'
import { goPath } from './build-guest.ts'
import { type Part, readLicences } from './bundled-packages.ts'
import { run } from './run.ts'

/**
 * Returns the Go modules that a program was linked from, and the Go library. It reads the program
 * itself. `source` is the directory of its module in the repository.
 */
export async function readGoModules(root: string, source: string, program: string): Promise<readonly Part[]> {
  const cwd = join(root, source)
  const env = { PATH: goPath(root) }
  const facts = await run(['go', 'version', '-m', program], { env })
  const dirs = new Map<string, string>()
  for (const line of (await run(['go', 'list', '-m', '-f', '{{.Path}} {{.Dir}}', 'all'], { cwd, env })).split('\n')) {
    const [path = '', dir = ''] = line.split(' ')
    dirs.set(path, dir)
  }
  const goRoot = (await run(['go', 'env', 'GOROOT'], { cwd, env })).trim()
  const goVersion = /: go(\S+)/.exec(facts)?.[1] ?? ''
  const library = await partOf('std', goVersion, goRoot)
  const modules = [...facts.matchAll(/^\tdep\t(\S+)\t(\S+)/gm)].map(([, path = '', version = '']) =>
    partOf(path, version, dirs.get(path) ?? ''),
  )
  return [library, ...(await Promise.all(modules))]
}

async function partOf(name: string, version: string, dir: string): Promise<Part> {
  return { name, version, purl: `pkg:golang/${name}@${version}`, license: null, texts: await readLicences(dir) }
}
