import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Build, DockerfileCheck, Template } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { classes } from './support/classes.ts'
import { type CliResult, holt, holtProcess } from './support/cli.ts'
import { service } from './support/facts.ts'

const dockerfile = `FROM holt/base-small
ARG GREETING=hello
USER root
RUN --mount=type=secret,id=token test "$(cat /run/secrets/token)" = hunter22 && echo "the token fits"
COPY . /srv/
RUN echo "$GREETING" > /srv/greeting
USER user
VOLUME /data
CMD ["not", "run"]
`
const app = `from http.server import BaseHTTPRequestHandler, HTTPServer
import itertools, os
visits = itertools.count(1)
class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"visitor {next(visits)}".encode())
HTTPServer(("0.0.0.0", 8000), Hello).serve_forever()
`
/** A build boots runtimes and takes checkpoints, on a machine that may be busy. */
const buildTimeoutMs = 240_000
const name = `cli-${Date.now().toString(36)}`
const textOf = ({ stdout }: CliResult) => stdout.toString()

describe('holt template', () => {
  let here: string
  beforeAll(async () => {
    here = await mkdtemp(join(tmpdir(), 'holt-templates-'))
    await writeFile(join(here, 'Dockerfile'), dockerfile)
    await writeFile(join(here, 'app.py'), app)
    await writeFile(join(here, 'private.key'), 'not for the image')
    await writeFile(join(here, '.dockerignore'), '*.key\nDockerfile\n')
  })
  afterAll(async () => {
    for (const template of [name, `${name}:bad`, `${name}:slow`]) await holt(['template', 'rm', template])
    await rm(here, { recursive: true, force: true })
  })

  const build = (...args: string[]) =>
    holt(
      [
        'template',
        'build',
        '-t',
        name,
        here,
        '--build-arg',
        'GREETING=hi',
        '--secret',
        'id=token,env=TOKEN',
        '--start-cmd',
      ].concat('python /srv/app.py', '--ready-cmd', 'curl -fs localhost:8000', ...args),
      { env: { TOKEN: 'hunter22' }, timeoutMs: buildTimeoutMs },
    )

  it('check reports the effect of each line, and exits 1 for a refusal', async () => {
    const good = await holt(['template', 'check', here])
    expect(good.code, good.stderr).toBe(0)
    expect(textOf(good)).toMatch(/\n8 +ignored +VOLUME \/data/)
    const bad = await holt(['template', 'check', '--json', '-f', '-'], {
      stdin: 'FROM a\nRUN --security=insecure true\n',
    })
    expect(bad.code).toBe(1)
    const { lines } = DockerfileCheck.parse(JSON.parse(textOf(bad)))
    expect(lines.map(({ line, verdict }) => [line, verdict])).toEqual([
      [1, 'supported'],
      [2, 'refused'],
    ])
  })

  it('build shows the steps, and names ignored instructions', { timeout: buildTimeoutMs }, async () => {
    const built = await build()
    expect(built.code, built.stderr).toBe(0)
    expect(textOf(built)).toMatch(/^tm[a-z0-9]{20}\n$/)
    expect(built.stderr).toContain('RUN echo "$GREETING"')
    expect(built.stderr).toContain('the token fits')
    expect(built.stderr).toContain('left out VOLUME (line 8)')
    expect(built.stderr).toContain(`${name} is ready`)
    expect(built.stderr).not.toContain('hunter22')
  })

  it.each(classes.filter((isolation) => service.unavailable[isolation] === null))(
    'a runtime of it has the built files, and the application answers [%s]',
    async (isolation) => {
      const script = 'cat /srv/greeting; id -un; ls /srv; curl -fs localhost:8000'
      const ran = await holt(['run', '-t', name, '--isolation', isolation, '--', 'sh', '-c', script])
      expect(ran.code, ran.stderr).toBe(0)
      expect(textOf(ran)).toMatch(/^hi\nuser\napp\.py\ngreeting\nvisitor \d+$/)
    },
  )

  it('the same build again is cached', { timeout: buildTimeoutMs }, async () => {
    const again = await build('--json', '--progress', 'quiet')
    expect(again.code, again.stderr).toBe(0)
    const { status, steps, template_id } = Build.parse(JSON.parse(textOf(again)))
    expect(status).toBe('ready')
    expect(steps.filter(({ text, state }) => text.startsWith('RUN echo') && state === 'cached')).toHaveLength(1)
    const shown = Template.parse(JSON.parse(textOf(await holt(['template', 'get', name, '--json']))))
    expect(shown).toMatchObject({ template_id, kind: 'custom', state: 'ready', start_cmd: 'python /srv/app.py' })
    expect(textOf(await holt(['template', 'ls', '--kind', 'custom']))).toMatch(new RegExp(`\\n${name} +custom +ready`))
  })

  it('a build that fails exits 1 with its step, its output and its log', { timeout: buildTimeoutMs }, async () => {
    const steps = ['--run', 'echo about to fail; exit 3']
    const failed = await holt(['template', 'build', '-t', `${name}:bad`, '--from-template', 'base-small', ...steps], {
      timeoutMs: buildTimeoutMs,
    })
    expect(failed).toMatchObject({ code: 1 })
    expect(textOf(failed)).toBe('')
    for (const told of ['about to fail', 'step_failed', 'RUN echo about to fail; exit 3', 'holt template logs bd'])
      expect(failed.stderr).toContain(told)
    expect(textOf(await holt(['template', 'logs', `${name}:bad`]))).toContain('about to fail')
    expect(textOf(await holt(['template', 'builds', name]))).toMatch(new RegExp(`${name}:bad +failed .*step_failed`))
  })

  it('Ctrl-C cancels the build', { timeout: buildTimeoutMs }, async () => {
    const child = holtProcess(
      ['template', 'build', '-t', `${name}:slow`, '--from-template', 'base-small', '--run', 'echo asleep; sleep 600'],
      { timeoutMs: buildTimeoutMs },
    )
    let stderr = ''
    const asleep = new Promise<void>((resolve, reject) => {
      child.once('close', () => reject(new Error(`it ended: ${stderr}`)))
      child.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk
        if (/#\d+ asleep/.test(stderr)) resolve()
      })
    })
    await asleep
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    child.kill('SIGINT')
    expect(await ended, stderr).toBe(130)
    expect(stderr).toContain('was cancelled')
    expect(textOf(await holt(['template', 'builds', name]))).toMatch(new RegExp(`${name}:slow +cancelled`))
  })

  it('rm deletes it', async () => {
    expect(await holt(['template', 'rm', name])).toMatchObject({ code: 0 })
    expect(await holt(['template', 'get', name])).toMatchObject({ code: 1 })
  })
})
