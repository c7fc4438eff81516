import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli } from '../../src/run-cli.ts'

// Everything but the words is refused: nothing listens there.
beforeEach(() => {
  vi.stubEnv('HOLT_URL', 'http://127.0.0.1:2')
  vi.stubEnv('HOLT_API_KEY', 'x')
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** Runs a command line here and returns its exit code and what it told people. */
async function told(line: string): Promise<{ readonly code: number; readonly text: string }> {
  let text = ''
  const take = (chunk: string | Uint8Array) => {
    text += String(chunk)
    return true
  }
  vi.spyOn(process.stderr, 'write').mockImplementation(take)
  vi.spyOn(process.stdout, 'write').mockImplementation(take)
  const code = await runCli(line.split(' '))
  return { code, text }
}

/** The command line is understood: what fails is the connection to the service. */
const works = Symbol('works')
/** The first guesses of newcomers for 50 tasks, with the answers. */
const firstGuesses: readonly (readonly [line: string, answer: string | typeof works])[] = [
  ['run -- echo hi', works],
  ['create box2', 'holt create -n box2'],
  ['list', 'holt ls'],
  ['ps', 'holt ls'],
  ['inspect box', 'holt get'],
  ['get box --format {{.State}}', '--json'],
  ['exec box ls', works],
  ['exec -it box bash', 'holt exec box -- COMMAND'],
  ['exec -u root box -- id', works],
  ['exec -e A=1 box -- env', works],
  ['exec -w /tmp box -- pwd', works],
  ['ssh box', 'holt shell'],
  ['cp package.json box:/workspace/', works],
  ['cp src box:/d', works],
  ['cp box:/f .', works],
  ['cat box:/f', 'holt cp RUNTIME:/FILE -'],
  ['logs box', works],
  ['logs --tail 1 box', works],
  ['logs -t box', works],
  ['ps box', works],
  ['top box', 'holt stats'],
  ['ports box', works],
  ['url box 8000', 'holt port'],
  ['stop box', 'holt pause'],
  ['start', '(Did you mean holt up?)'],
  ['start box', 'holt resume box. For the service: holt up'],
  ['stop', '(Did you mean holt down?)'],
  ['docs', 'http://127.0.0.1:2/docs/'],
  ['firewall box', 'holt net'],
  ['restart box', 'holt pause RUNTIME, then holt resume RUNTIME'],
  ['rename box box2', 'holt create -n NAME'],
  ['create --label a=b', '-m KEY=VALUE'],
  ['set box --timeout 2h', works],
  ['delete box', 'holt rm'],
  ['rm --all', 'holt rm --all -f'],
  ['prune', 'holt rm'],
  ['snapshot box', 'holt snapshot create box'],
  ['create --from-snapshot s1', '--snapshot SNAPSHOT'],
  ['restore s1', 'holt create --snapshot'],
  ['fork box -n 2', '--count COUNT'],
  ['templates', works],
  ['build .', 'holt template build'],
  ['policy create web --allow example.com', works],
  ['net allow box example.com', 'holt net set RUNTIME --allow HOST'],
  ['secret set k v', '--from-env'],
  ['key create ci --scope runtime:read', works],
  ['events -n 3', works],
  ['version', 'holt --version'],
  ['run --env-file /dev/null -- env', works],
  ['whoami', works],
]

test('there are 50 first guesses', () => {
  expect(firstGuesses).toHaveLength(50)
})

test.each(firstGuesses)('holt %s works, or gets the right suggestion', async (line, answer) => {
  const { code, text } = await told(line)
  if (typeof answer === 'string') {
    expect(text).toContain(answer)
    expect(code).toBe(2)
  } else {
    expect(text).not.toMatch(/unknown|Did you mean|too many|missing required/)
    expect(text).toContain('127.0.0.1:2')
  }
})

test.each([
  ['info box', 'holt get'],
  ['unpause box', 'holt resume'],
  ['connect box', 'holt shell'],
  ['destroy box', 'holt rm'],
  ['kill-runtime box', 'holt rm'],
  ['images', 'holt template ls'],
  ['clone box', 'holt fork'],
  ['login', 'HOLT_API_KEY'],
  ['template list', 'holt template ls'],
  ['secrets delete k', 'holt secret rm'],
  ['secret get k', 'holt secret ls'],
  ['key revoke k', 'holt key rm'],
  ['policy update p', 'holt policy set'],
  ['-v', 'holt --version'],
  ['create -v /a:/b', 'holt sync'],
  ['create -p 8000:8000', 'holt port RUNTIME PORT'],
  ['create -d', 'leave -d out'],
  ['run -d -- true', 'holt exec -d'],
  ['run --rm -- true', '--no-rm'],
  ['run -it -- bash', 'holt shell RUNTIME'],
  ['snapshot restore s1', 'holt create --snapshot SNAPSHOT'],
  ['snapshot save box', 'holt snapshot create RUNTIME'],
  ['save box', 'holt snapshot create'],
  ['auth login', 'HOLT_API_KEY'],
  ['mkdir box:/x', 'holt exec RUNTIME -- mkdir'],
  ['upload f box:/f', 'holt cp -r FILE RUNTIME:/PATH'],
  ['download box:/f f', 'holt cp -r RUNTIME:/PATH FILE'],
  ['ls box:/workspace', 'holt exec box -- ls -la /workspace'],
  ['sandbox list', 'holt ls'],
  ['runtimes', 'holt ls'],
  ['fs ls box', 'holt exec RUNTIME -- ls'],
  ['read box:/f', 'holt cp RUNTIME:/FILE -'],
  ['write box:/f', 'holt cp - RUNTIME:/FILE'],
  ['files box', 'holt exec RUNTIME -- ls'],
  ['tag web web:v2', 'holt template build -t NAME:TAG'],
  ['stats --no-stream', 'leave --no-stream out'],
  ['cp -a src box:/d', '-r'],
  ['events --tail 3', '--limit COUNT'],
  ['logs box --limit 3', '--tail COUNT'],
  ['port box 8080:80', 'holt port box --forward 8080:80'],
  ['set box --name other', 'holt create -n NAME'],
])('holt %s names the right command', async (line, words) => {
  const { code, text } = await told(line)
  expect(code).toBe(2)
  expect(text).toContain(words)
})

test.each(['templates', 'snapshots', 'keys', 'secrets', 'policies', 'providers', 'projects', 'webhooks'])(
  'holt %s lists them',
  async (plural) => expect((await told(plural)).text).toContain('127.0.0.1:2'),
)

test('an unknown command for kill may be the runtime', async () => {
  expect((await told('kill box')).text).toContain('To end the runtime: holt rm box')
})

test('a value on the command line is not repeated', async () => {
  const { text } = await told('secret set k v-of-the-secret')
  expect(text).toContain("too many arguments for 'set'")
  expect(text).not.toContain('v-of-the-secret')
})

test('a misspelt word gets a suggestion, and an unknown one gets none', async () => {
  expect((await told('lss')).text).toContain('(Did you mean ls?)')
  expect((await told('toString')).text).toBe(
    "error: unknown command 'toString'\n(add --help for the options and examples)\n",
  )
})
