import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/foundation/store/migrations/migrations.ts'
import { readsFrom } from '../../../../src/foundation/store/migrations/reads-from.ts'
import { SqliteFile } from '../../../../src/foundation/store/sqlite-database.ts'
import { migrateSqlite } from '../../../../src/foundation/store/sqlite-store.ts'
import { smoke } from './smoke.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../../../../', import.meta.url))
const migrationsDir = 'packages/server/src/foundation/store/migrations'
const smokeFile = 'packages/server/test/foundation/store/older-code/smoke.ts'

/** Returns the commit before the newest migration. */
async function commitBefore(): Promise<string> {
  const text = await readFile(join(root, migrationsDir, 'migrations.ts'), 'utf8')
  const [, newest] = /(\w+),\s*\]\s*$/.exec(text) ?? []
  const [, file] = new RegExp(`import \\{ ${newest} \\} from '\\./(.*)'`).exec(text) ?? []
  if (file === undefined) throw new Error('the newest migration was not found')
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

/** Makes a store of the newest schema. Code without `reads_from` finds its own number. */
async function newestStore(dir: string): Promise<string> {
  const path = join(dir, 'newest.db')
  const file = new SqliteFile(path)
  migrateSqlite(file)
  if (!existsSync(join(dir, migrationsDir, 'reads-from.ts')))
    file.exec(`DELETE FROM migrations WHERE version >= ${migrations.length}`)
  file.close()
  return path
}

test('the service of this commit passes the tests for older code', smoke)

const newest = migrations.length
test.runIf((readsFrom[newest] ?? newest) < newest && existsSync(join(root, '.git')))(
  'the code before the newest migration works with the schema after it',
  { timeout: 300_000 },
  async () => {
    const dir = await checkOut(await commitBefore())
    const store = await newestStore(dir)
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
