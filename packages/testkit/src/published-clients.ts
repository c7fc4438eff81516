import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installTimeoutMs, keepInstalled } from './keep-installed.ts'

const run = promisify(execFile)
const kept = fileURLToPath(new URL('../../../.holt/published', import.meta.url))

/** The directory whose files pin the newest tested versions of E2B's clients. */
const examples = fileURLToPath(new URL('../../../examples/e2b', import.meta.url))

/** Returns the file to import as E2B's newest tested SDK for JavaScript. */
export async function e2bForJavaScript(): Promise<string> {
  const { dependencies } = JSON.parse(await readFile(join(examples, 'package.json'), 'utf8'))
  return join(await publishedNpm('e2b', dependencies.e2b), 'dist/index.mjs')
}

/** Returns a directory for `PYTHONPATH` with E2B's newest tested SDK for Python. */
export async function e2bForPython(): Promise<string> {
  const [, version = ''] = /^e2b==(.*)$/m.exec(await readFile(join(examples, 'requirements.txt'), 'utf8')) ?? []
  return publishedPip('e2b', version)
}

/**
 * Returns the directory of a package of npm in one version, such as `e2b@2.51.0`. It is installed
 * at the first call, and kept in `.holt/published` for later runs. Its scripts do not run.
 */
async function publishedNpm(name: string, version: string): Promise<string> {
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock', '--omit=dev']
  const dir = await keepInstalled(join(kept, `npm-${name.replace('/', '-')}-${version}`), (target) =>
    run('npm', ['install', ...options, '--prefix', target, `${name}@${version}`], { timeout: installTimeoutMs }),
  )
  return join(dir, 'node_modules', name)
}

/**
 * Returns a directory for `PYTHONPATH` with a package of PyPI in one version. It is installed at
 * the first call, and kept in `.holt/published` for later runs.
 */
function publishedPip(name: string, version: string): Promise<string> {
  const options = ['--quiet', '--disable-pip-version-check']
  return keepInstalled(join(kept, `pip-${name}-${version}`), (target) =>
    run('python3', ['-m', 'pip', 'install', ...options, '--target', target, `${name}==${version}`], {
      timeout: installTimeoutMs,
    }),
  )
}
