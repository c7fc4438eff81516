import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { IsolationClass } from './classes.ts'
import { repository } from './service-process.ts'

const project = join(repository, 'examples/quickstart/project')

/** The lines of the quickstart's bug, and their repair. */
const bug = '    return {name: cents * weight // total for name, weight in weights.items()}'
const repair = `    shares = {name: cents * weight // total for name, weight in weights.items()}
    left = cents - sum(shares.values())
    for name in [name for name, weight in weights.items() if weight > 0][:left]:
        shares[name] += 1
    return shares`

/** Calls a tool, and returns the text of its result. */
export type UseTool = (name: string, args: object) => Promise<string>

/** Repairs the project of the quickstart as an agent does, through tools alone. */
export async function repairProject(use: UseTool, isolation: IsolationClass): Promise<void> {
  const made = JSON.parse(await use('create_runtime', { isolation, timeout_secs: 600 }))
  const runtime = made.runtime_id as string
  const cwd = '/workspace/project'
  const test = () => use('run_command', { runtime, cwd, command: 'python -m unittest' })
  for (const name of globSync('**/*.*', { cwd: project }).filter((one) => !one.includes('__pycache__'))) {
    const content = await readFile(join(project, name), 'utf8')
    await use('write_file', { runtime, path: `${cwd}/${name}`, content })
  }
  expect(await test()).toMatch(/^Exit code 1 [\s\S]*FAILED/)
  const found = await use('search_files', { runtime, path: cwd, content: 'weight // total' })
  expect(found).toContain('/workspace/project/splitbill/split.py:')
  const path = `${cwd}/splitbill/split.py`
  expect(await use('read_file', { runtime, path })).toContain(bug)
  await use('edit_file', { runtime, path, old_text: bug, new_text: repair })
  expect(await test()).toMatch(/^Exit code 0 [\s\S]*\nOK\n/)
  await use('delete_runtime', { runtime })
}
