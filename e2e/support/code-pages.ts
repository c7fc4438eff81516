import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { service } from './facts.ts'
import { nodeBinary, repository } from './service-process.ts'

/** The time for all blocks of one language. The first one of Python installs the client. */
const timeoutMs = 400_000

/** Runs a notebook from its first cell to its last, and prints what each cell shows. */
const runNotebook = `
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        print(output.get("text") or output["data"].get("text/plain"), *output.get("data", {}))
`

/** A directory in which a reader of the page on code types its blocks. */
export class CodeReader implements AsyncDisposable {
  readonly #dir: string
  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Makes the directory, with the files that the page names. */
  static async open(): Promise<CodeReader> {
    // Below the repository, because programs there find the client.
    const dir = await mkdtemp(join(repository, '.holt', 'e2e-code-'))
    await mkdir(join(dir, 'bin'))
    await symlink(join(repository, 'packages', 'cli', 'bin', 'holt'), join(dir, 'bin', 'holt'))
    await symlink(nodeBinary(), join(dir, 'bin', 'node'))
    await writeFile(join(dir, 'analysis.py'), 'import pandas\nprint("of pandas", pandas.Series([1, 2]).sum())\n')
    await writeFile(join(dir, 'app.js'), 'console.log("of javascript", 6 * 7)\n')
    return new CodeReader(dir)
  }

  /** Runs the blocks of `docs/code.md` in a language, and returns their output. */
  async typeBlocks(language: 'sh' | 'ts' | 'python'): Promise<string> {
    const page = await readFile(join(repository, 'docs', 'code.md'), 'utf8')
    const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    const text = blocks.flatMap(([, name, block = '']) => (name === language ? block : [])).join('\n')
    if (language === 'sh') return this.#run(['bash', '-ec', text], 'print("typed")\n')
    const file = join(this.#dir, language === 'ts' ? 'block.ts' : 'block.py')
    await writeFile(file, text)
    return this.#run([language === 'ts' ? 'node' : await this.#python(), file])
  }

  /** Runs the notebook of the examples, and returns what its cells show. */
  async runNotebook(): Promise<string> {
    const notebook = join(repository, 'examples', 'python', 'code.ipynb')
    return this.#run([await this.#python(), '-c', runNotebook, notebook])
  }

  async #python(): Promise<string> {
    const output = await this.#run(['bash', join(repository, 'scripts', 'prepare-python.sh')])
    return output.trim().split('\n').at(-1) ?? ''
  }

  async #run([program = '', ...args]: readonly string[], input = ''): Promise<string> {
    const env = {
      PATH: `${join(this.#dir, 'bin')}:${process.env.PATH}`,
      ...{ HOME: this.#dir, HOLT_URL: service.url, HOLT_API_KEY: service.key },
    }
    const child = spawn(program, args, { cwd: this.#dir, env, timeout: timeoutMs })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    child.stdin.on('error', () => undefined) // It need not read what it is given.
    child.stdin.end(input)
    const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
    expect(code, `${output}\n${errors}`).toBe(0)
    return output
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#run(['holt', 'rm', '-f', 'lab']).catch(() => '') // A block that failed may not have made it.
    await rm(this.#dir, { recursive: true })
  }
}
