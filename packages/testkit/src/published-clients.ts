import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const kept = fileURLToPath(new URL('../../../.holt/published', import.meta.url))

/** The time limit of an installation, in milliseconds. */
const installMs = 300_000

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
  const dir = await installed(`npm-${name.replace('/', '-')}-${version}`, (target) =>
    run('npm', ['install', ...options, '--prefix', target, `${name}@${version}`], { timeout: installMs }),
  )
  return join(dir, 'node_modules', name)
}

/**
 * Returns a directory for `PYTHONPATH` with a package of PyPI in one version. It is installed at
 * the first call, and kept in `.holt/published` for later runs.
 */
function publishedPip(name: string, version: string): Promise<string> {
  const options = ['--quiet', '--disable-pip-version-check']
  return installed(`pip-${name}-${version}`, (target) =>
    run('python3', ['-m', 'pip', 'install', ...options, '--target', target, `${name}==${version}`], {
      timeout: installMs,
    }),
  )
}

/** Installs into a directory beside the final one, so that nobody sees half of a package. */
async function installed(name: string, install: (target: string) => Promise<unknown>): Promise<string> {
  const dir = join(kept, name)
  if (existsSync(dir)) return dir
  const unfinished = `${dir}.${randomUUID()}`
  await mkdir(unfinished, { recursive: true })
  try {
    await install(unfinished)
    await rename(unfinished, dir).catch((error: NodeJS.ErrnoException) => {
      // Another process has installed the same meanwhile.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return dir
}
