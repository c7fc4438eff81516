import { spawn } from 'node:child_process'
import {
  chmod,
  link,
  lutimes,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeClasses } from './support/classes.ts'
import { holt } from './support/cli.ts'
import { service } from './support/facts.ts'
import { repository } from './support/service-process.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

describeClasses('trees from the command line', (isolation) => {
  let runtime: TestRuntime
  let here: string
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
    here = await mkdtemp(join(tmpdir(), 'holt-trees-'))
    const tree = join(here, 'tree')
    await mkdir(join(tree, 'd/e'), { recursive: true })
    for (let index = 0; index < 200; index++) await writeFile(join(tree, 'd', `file ${index}`), `content ${index}`)
    await writeFile(join(tree, 'big'), Buffer.alloc(3_000_000, 'x'))
    await chmod(join(tree, 'big'), 0o755)
    await link(join(tree, 'big'), join(tree, 'd/e/same'))
    await symlink('../big', join(tree, 'd/link'))
    await lutimes(join(tree, 'd/link'), 1_000_000_002, 1_000_000_002)
    await utimes(join(tree, 'd/e'), 1_000_000_001, 1_000_000_001)
    await utimes(join(tree, 'd'), 1_000_000_000, 1_000_000_000)
  })
  afterAll(() => rm(here, { recursive: true, force: true }))

  const ok = async (...args: string[]) => {
    const { code, stdout, stderr } = await holt(args)
    expect(code, stderr).toBe(0)
    return { stdout: stdout.toString(), stderr }
  }

  it('cp -r copies a tree both ways with modes, times and links, without a command inside', async () => {
    await ok('cp', '-r', join(here, 'tree'), `${runtime.id}:/srv/tree`)
    const there = await runtime.sh(
      "cd /srv/tree; find . | wc -l; stat -c '%a %h %U' big; stat -c %Y d d/e d/link; readlink d/link; cmp big d/e/same; cat 'd/file 7'",
    )
    expect(there.split('\n')).toEqual([
      '206',
      '755 2 user',
      '1000000000',
      '1000000001',
      '1000000002',
      '../big',
      'content 7',
    ])
    expect((await ok('ps', runtime.id)).stdout).not.toContain('ln -s')
    await ok('cp', '-r', `${runtime.id}:/srv/tree`, join(here, 'back'))
    expect((await stat(join(here, 'back/d/e/same'))).ino).toBe((await stat(join(here, 'back/big'))).ino)
    expect((await stat(join(here, 'back/d'))).mtimeMs).toBe(1_000_000_000_000)
    expect((await readdir(join(here, 'back'), { recursive: true })).length).toBe(205)
    expect(await readFile(join(here, 'back/d/file 7'), 'utf8')).toBe('content 7')
  })

  it('cp -r of a hostile tree stays in its directory, and names the skipped files', async () => {
    await runtime.sh(`mkdir -p /srv/evil; cd /srv/evil; echo x > f; ln -s / root; ln -s ../../.. up; ln -s f fine; mkfifo pipe
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('/srv/evil/socket')"`)
    const { stderr } = await ok('cp', '-r', `${runtime.id}:/srv/evil`, join(here, 'evil'))
    expect((await readdir(join(here, 'evil'))).sort()).toEqual(['f', 'fine'])
    for (const name of ['root', 'up', 'pipe', 'socket']) expect(stderr).toContain(`holt: left out ${name}: `)
  })

  it('sync sends changes, and follows them', async () => {
    const tree = join(here, 'synced')
    await mkdir(join(tree, 'src'), { recursive: true })
    await writeFile(join(tree, 'src/main.py'), 'print(1)')
    await writeFile(join(tree, 'debug.log'), 'noise')
    const args = ['sync', tree, `${runtime.id}:/srv/synced`, '--exclude', '*.log', '--delete']
    expect((await ok(...args)).stderr).toContain('holt: sent 2 (8 B), removed 0, 0 unchanged')
    expect((await ok(...args)).stderr).toContain('holt: sent 0 (0 B), removed 0, 2 unchanged')
    await using following = start([...args, '--watch'])
    await until('it follows', async () => following.stderr().includes('holt: following'), 60_000)
    await mkdir(join(tree, 'new/deep'), { recursive: true })
    await writeFile(join(tree, 'new/deep/f'), 'f')
    await rm(join(tree, 'src'), { recursive: true })
    const there = () => runtime.sh('cd /srv/synced; find . -type f')
    await until('it is there', async () => (await there()) === './new/deep/f', 60_000)
    following.child.kill('SIGINT')
    expect(await following.code).toBe(130)
    expect(following.stderr()).toContain('holt: ended; followed changes')
  })

  it('watch reports changes', async () => {
    await runtime.sh('mkdir -p /srv/watched')
    await using watching = start(['watch', `${runtime.id}:/srv/watched`])
    await until('it watches', async () => watching.stderr() !== '', 60_000)
    expect(watching.stderr()).toBe('holt: watching /srv/watched\n')
    await runtime.sh('cd /srv/watched; mkdir d; mv d e; cd /; rm -rf /srv/watched')
    expect(await watching.code).toBe(0)
    expect(watching.stdout()).toContain('created     /srv/watched/d/\nmoved       /srv/watched/d/ -> /srv/watched/e/\n')
    expect(watching.stdout()).toContain('removed     /srv/watched/\n')
  })
})

/** Starts `holt`, which is ended with the test at the latest. */
function start(args: readonly string[]) {
  const child = spawn(join(repository, 'packages/cli/bin/holt'), args, {
    env: { PATH: process.env.PATH, HOLT_URL: service.url, HOLT_API_KEY: service.key },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const told = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    told.stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    told.stderr += chunk.toString()
  })
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    child,
    code,
    stdout: () => told.stdout,
    stderr: () => told.stderr,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await code
    },
  }
}
