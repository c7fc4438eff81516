import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readsFrom } from '../../../../src/foundation/store/migrations/reads-from.ts'
import { SqliteFile } from '../../../../src/foundation/store/sqlite-database.ts'
import { migrateSqlite } from '../../../../src/foundation/store/sqlite-store.ts'
import { smoke } from './smoke.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../../../../', import.meta.url))
const migrationsDir = 'packages/server/src/foundation/store/migrations'
const smokeFile = 'packages/server/test/foundation/store/older-code/smoke.ts'

/** Returns the newest schema that daemons of the one before it can use. */
function newestForOlder(): number {
  return Math.max(...Object.entries(readsFrom).flatMap(([version, from]) => (from < Number(version) ? [+version] : [])))
}

/** Returns the commit before a migration. */
async function commitBefore(version: number): Promise<string> {
  const text = await readFile(join(root, migrationsDir, 'migrations.ts'), 'utf8')
  const [, list = ''] = /= \[([^\]]*)\]\s*$/.exec(text) ?? []
  const name = list.split(',')[version - 1]?.trim()
  const [, file] = new RegExp(`import \\{ ${name} \\} from '\\./(.*)'`).exec(text) ?? []
  if (file === undefined) throw new Error('the migration was not found')
  const added = ['log', '-1', '--diff-filter=A', '--format=%H', '--', `${migrationsDir}/${file}`]
  const { stdout } = await run('git', added, { cwd: root })
  return `${stdout.trim()}^`
}

/** Writes the code of a commit into a temporary directory, with the npm packages of this clone. */
async function checkOut(commit: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-older-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await run('bash', ['-c', 'set -o pipefail; git archive "$1" | tar -x -C "$2"', 'bash', commit, dir], { cwd: root })
  await linkPackages(join(root, 'node_modules'), join(dir, 'node_modules'))
  for (const name of readdirSync(join(dir, 'packages'))) {
    const from = join(root, 'packages', name, 'node_modules')
    if (existsSync(from)) await linkPackages(from, join(dir, 'packages', name, 'node_modules'))
  }
  return dir
}

/** Links npm packages. Those of Holt are the ones of the new place. */
async function linkPackages(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of readdirSync(from)) {
    if (name !== '@holt') await symlink(join(from, name), join(to, name))
    else {
      await mkdir(join(to, name))
      for (const own of readdirSync(join(from, name)))
        await symlink(await readlink(join(from, name, own)), join(to, name, own))
    }
  }
}

/** Makes a store of a schema. Code without `reads_from` finds its own number in it. */
async function storeOf(version: number, dir: string): Promise<string> {
  const path = join(dir, 'newer.db')
  const file = new SqliteFile(path)
  migrateSqlite(file, version)
  if (!existsSync(join(dir, migrationsDir, 'reads-from.ts')))
    file.exec(`DELETE FROM migrations WHERE version >= ${version}`)
  file.close()
  return path
}

test('the service of this commit passes the tests for older code', smoke)

test.runIf(existsSync(join(root, '.git')))(
  'the code before a migration that says so works with the schema after it',
  { timeout: 300_000 },
  async () => {
    const version = newestForOlder()
    const dir = await checkOut(await commitBefore(version))
    const store = await storeOf(version, dir)
    const copy = join(dir, smokeFile)
    await mkdir(dirname(copy), { recursive: true })
    await run('cp', [join(root, smokeFile), copy])
    const text = `import { test } from 'vitest'\nimport { smoke } from './smoke.ts'\ntest('older code', smoke)\n`
    await writeFile(join(dirname(copy), 'smoke.test.ts'), text)
    const { stdout } = await run(
      join(dir, 'node_modules/.bin/vitest'),
      ['run', '--maxWorkers=1', smokeFile.replace('.ts', '.test.ts')],
      { cwd: dir, env: { ...process.env, HOLT_SMOKE_STORE: store, HOLT_TEST_LENGTH: 'short', NO_COLOR: '1' } },
    )
    expect(stdout).toMatch(/Tests\s+1 passed/)
  },
)
