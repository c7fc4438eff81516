import { spawnSync } from 'node:child_process'
import { shareOf } from '@holt/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BuildError, type BuildRequest, type BuildResult, runBuild } from '../../src/index.ts'
import { type BuildRig, prepareRig, requestOf, type TestBuildHost } from '../support/build-rig.ts'
import { localImages } from '../support/local-images.ts'
import { lacks } from '../support/machine.ts'

const missing = lacks('runsc', 'runc', 'go', 'tar')
const TIMEOUT_MS = 120_000

describe.skipIf(missing !== '')(`builds${missing}`, { timeout: TIMEOUT_MS }, () => {
  let rig: BuildRig

  beforeAll(async () => {
    rig = await prepareRig(localImages)
  }, TIMEOUT_MS)
  afterEach(async () => {
    expect(await rig.runtimes()).toEqual([])
  })
  afterAll(() => rig[Symbol.asyncDispose]())

  const build = (host: TestBuildHost, request: BuildRequest): Promise<BuildResult> =>
    runBuild(request, host, AbortSignal.timeout(TIMEOUT_MS))

  /** The failure of a build. */
  async function failureOf(host: TestBuildHost, request: BuildRequest): Promise<BuildError> {
    const error = await build(host, request).catch((thrown: unknown) => thrown)
    if (error instanceof BuildError) return error
    throw error instanceof Error ? error : new Error('it did not fail')
  }

  const statesOf = ({ steps }: TestBuildHost) => steps.map(({ state }) => state)

  describe.each(shareOf(['gvisor', 'container'] as const, 1 / 2, 'class of builds'))('in %s', (isolation) => {
    test('runs a Dockerfile and makes the image', async () => {
      const host = rig.host(isolation)
      const context = await rig.context({ 'a.txt': 'from the context', 'd/b.txt': 'b' })
      const text = `FROM base
ARG GREETING=hello
ENV NAME=world PATH=/opt/bin:$PATH
RUN useradd -u 1234 app && env | sort > /env
COPY --chown=app a.txt d /data/
WORKDIR /work
USER app
RUN id -u > /data/../tmp/id; pwd >> /tmp/id
RUN ["/bin/sh", "-c", "echo \\"$GREETING $NAME\\" > /tmp/exec"]
LABEL a=b
EXPOSE 80`
      const result = await build(host, requestOf(text, { context, env: { MORE: '1' } }))
      const read = (path: string) => rig.text(result.imageDigest, path)
      expect(await read('/env')).toBe(
        'GREETING=hello\nHOME=/root\nLANG=C\nNAME=world\nPATH=/opt/bin:/usr/bin:/bin\nPWD=/\n',
      )
      expect(await read('/tmp/id')).toBe('1234\n/work\n')
      expect(await read('/tmp/exec')).toBe('hello world\n')
      expect(await read('/data/a.txt')).toBe('from the context')
      const listing = await rig.list(result.imageDigest)
      expect(listing.get('data/b.txt')).toMatch(/^f 644 1234 1234 /)
      expect(listing.get('etc/resolv.conf')).toBeUndefined()
      expect(result.settings).toEqual({
        env: { LANG: 'C', NAME: 'world', MORE: '1' },
        user: 'app',
        workdir: '/work',
        labels: { a: 'b' },
        ports: ['80/tcp'],
      })
      expect(result.checkpoint).toBeNull()
      expect(host.statuses).not.toContain('snapshotting')
      expect(host.steps.at(-1)?.text).toBe('Export the image')
      expect(host.statuses.slice(0, 3)).toEqual(['pulling', 'building', 'exporting'])
      expect(new Set(statesOf(host))).toEqual(new Set(['cached', 'done']))
    })

    test('repeats no step with unchanged inputs', async () => {
      const host = rig.host(isolation)
      const text = (last: string) => `FROM base
RUN od -An -N16 -tx1 /dev/urandom > /one
WORKDIR /made
COPY a.txt /
RUN od -An -N16 -tx1 /dev/urandom > /two
RUN ${last}`
      const context = await rig.context({ 'a.txt': '1' })
      const first = await build(host, requestOf(text('true'), { context }))
      const runtimes = host.given.length
      const again = await build(host, requestOf(text('true'), { context }))
      expect(again).toEqual(first)
      expect(host.given).toHaveLength(runtimes)
      expect(new Set(statesOf(host))).toEqual(new Set(['cached']))
      const uuids = async ({ imageDigest }: BuildResult) =>
        Promise.all(['/one', '/two'].map((path) => rig.text(imageDigest, path)))
      const before = await uuids(first)
      if (isolation === 'gvisor') {
        const changed = await build(host, requestOf(text('echo > /three'), { context }))
        expect(await uuids(changed)).toEqual(before)
        expect(statesOf(host).slice(0, 6)).toEqual([...Array(5).fill('cached'), 'done'])
        const copied = await build(host, requestOf(text('true'), { context: await rig.context({ 'a.txt': '2' }) }))
        const [one, two] = await uuids(copied)
        expect([one === before[0], two === before[1]]).toEqual([true, false])
      }
      const anew = await build(host, requestOf(text('true'), { context, noCache: true }))
      expect((await uuids(anew)).map((uuid, index) => uuid === before[index])).toEqual([false, false])
      // A build without the cache fills the cache for the next one.
      expect(await uuids(await build(host, requestOf(text('true'), { context })))).toEqual(await uuids(anew))
    })

    test('repeats a step for another build argument that it uses, or another policy', async () => {
      const host = rig.host(isolation)
      const text = 'FROM base\nARG UNUSED\nRUN od -An -N16 -tx1 /dev/urandom > /one\nARG A\nLABEL a=$A'
      const one = async (change: Partial<BuildRequest>) =>
        rig.text((await build(host, requestOf(text, change))).imageDigest, '/one')
      const first = await one({ buildArgs: { A: '1' } })
      expect(await one({ buildArgs: { A: '2' } })).toBe(first)
      expect(await one({ buildArgs: { A: '2', HTTPS_PROXY: 'http://proxy' } })).toBe(first)
      expect(await one({ buildArgs: { A: '2', UNUSED: 'x' } })).not.toBe(first)
      expect(await one({ buildArgs: { A: '2' }, policyKey: 'other' })).not.toBe(first)
    })

    test('continues if its base state is missing', async () => {
      const host = rig.host(isolation)
      const text = (last: string) => `FROM base\nRUN od -An -N16 -tx1 /dev/urandom > /one\nRUN ${last}`
      await build(host, requestOf(text('true')))
      for (const id of host.checkpoints) await rig.engine.ability('checkpoints')?.remove(id)
      for (const [key, entry] of host.entries)
        if (entry.type === 'image') host.entries.set(key, { ...entry, imageDigest: `sha256:${'0'.repeat(64)}` })
      const { imageDigest } = await build(host, requestOf(text('echo again > /two')))
      expect(await rig.text(imageDigest, '/two')).toBe('again\n')
    })

    test('changes modes like chmod, relative to each file', async () => {
      const host = rig.host(isolation)
      const text = `FROM base
RUN mkdir -p /of/sub && echo 1 > /of/script && echo 2 > /of/sub/data && chmod 640 /of/script && chmod 2700 /of/sub && chmod 755 /of/sub/data
COPY --from=0 --chmod=+x /of/ /any/
COPY --from=0 --chmod=u+rwX,g=r,o= /of/ /some/
ARG MODE=a=rX
COPY --from=0 --chmod=$MODE /of/ /word/
COPY --chmod=go-r,u+x <<two /text/
2
two`
        .replaceAll('--from=0', '--from=base')
        .replace('FROM base', 'FROM base AS base')
      const stages = text.replace('COPY', 'FROM base\nCOPY')
      const listing = await rig.list((await build(host, requestOf(stages))).imageDigest)
      const modes = ['script', 'sub', 'sub/data'].map((name) =>
        ['any', 'some', 'word'].map((dir) => listing.get(`${dir}/${name}`)?.split(' ')[1]),
      )
      expect(modes).toEqual([
        ['751', '640', '444'],
        ['2711', '2740', '2555'],
        ['755', '740', '555'],
      ])
      expect(listing.get('text/two')).toMatch(/^f 700 /)
      const wrong = requestOf('FROM base\nARG MODE=u+q\nCOPY --chmod=$MODE <<a /\na')
      expect(await failureOf(host, wrong)).toMatchObject({ code: 'dockerfile_invalid' })
    })

    test('builds stages on each other, and only the needed ones', async () => {
      const host = rig.host(isolation)
      const text = `FROM base AS tools
RUN mkdir /out && echo tool > /out/tool && chmod 755 /out/tool && chown 7:8 /out/tool
FROM base AS unneeded
RUN exit 1
FROM tools AS more
RUN echo more > /out/more
FROM scratch
COPY --from=tools /out/ /bin/
COPY --from=more /out/more /more
COPY --from=base /etc/os-release /
COPY <<EOF /text
"$PATH"
EOF`
      const { imageDigest } = await build(host, requestOf(text))
      const listing = await rig.list(imageDigest)
      expect([...listing.keys()].sort()).toEqual(['.', 'bin', 'bin/tool', 'more', 'os-release', 'text'])
      expect(listing.get('bin/tool')).toMatch(/^f 755 7 8 /)
      expect(await rig.text(imageDigest, '/more')).toBe('more\n')
      expect(await rig.text(imageDigest, '/text')).toContain('"/usr/local/sbin')
      await build(host, requestOf(text))
      expect(new Set(statesOf(host))).toEqual(new Set(['cached']))
    })

    test('reports the failed step, its exit and its last output', async () => {
      const host = rig.host(isolation)
      const request = requestOf('FROM base\nRUN true\nRUN echo one; echo two >&2; exit 7\nRUN true')
      const failure = await failureOf(host, request)
      expect(failure).toMatchObject({ code: 'step_failed', step: 3, details: { exit_code: 7 } })
      expect(failure.message).toMatch(/^RUN echo one.* exited with 7\.\n/)
      expect(failure.message).toContain('two')
      expect(statesOf(host).slice(1, 4)).toEqual(['done', 'failed', 'skipped'])
      expect(host.lines).toContain('one')
    })

    test.each([
      ['RUN ["/nothing/here"]', /nothing\/here/],
      ['USER nobody-knows\nRUN true', /nobody-knows/],
      ['COPY --from=base /nothing /', /nothing/],
      ['COPY a /', /context/],
      ['RUN kill -9 $$', /SIGKILL/],
      ['COPY --from=base /etc/os-release /file\nWORKDIR /file/dir', /file/],
    ])('fails at %j', async (line, message) => {
      const failure = await failureOf(rig.host(isolation), requestOf(`FROM base\n${line}`))
      expect(failure.code).toBe('step_failed')
      expect(failure.message).toMatch(message)
      expect(failure.hint).toMatch(/\S/)
      expect(failure.step).toBeGreaterThan(1)
    })

    test('says that a step did not run as root if its user lacks a permission', async () => {
      const failure = await failureOf(rig.host(isolation), requestOf('FROM base\nUSER 7:8\nRUN echo > /file'))
      expect(failure.message).toContain('ermission denied')
      expect(failure.hint).toContain('ran as 7:8')
    })

    test('keeps build secrets out of all outputs', async () => {
      const host = rig.host(isolation)
      const secret = `s3cr3t-${isolation}-4711-value`
      const text = `FROM base
RUN --mount=type=secret,id=key --mount=type=secret,id=key,env=KEY,target=/root/.key,mode=0444 \
  cat /run/secrets/key; test "$KEY" = "$(cat /root/.key)" && echo "$KEY" | wc -c > /length && stat -c %a /root/.key >> /length
RUN ls -a /run /root > /after; env >> /after
RUN --mount=type=secret,id=absent test ! -e /run/secrets/absent`
      const buildSecrets = { key: secret }
      const { imageDigest } = await build(host, requestOf(text, { buildSecrets }))
      expect(await rig.text(imageDigest, '/length')).toBe(`${secret.length + 1}\n444\n`)
      expect(await rig.text(imageDigest, '/after')).not.toMatch(/secrets|key|KEY/)
      expect(host.lines).toContain('********')
      expect(host.lines.join('\n')).not.toContain(secret)
      const found = spawnSync('grep', [
        '-raFl',
        secret,
        ...['state/images', 'state/checkpoints', 'work'].map((each) => `${rig.dir}/${each}`),
      ])
      expect(found.stdout.toString()).toBe('')
      const failure = await failureOf(
        host,
        requestOf('FROM base\nRUN --mount=type=secret,id=key cat /run/secrets/key; false', { buildSecrets }),
      )
      expect(failure.message).not.toContain(secret)
      expect(failure.message).toContain('********')
      const required = requestOf('FROM base\nRUN --mount=type=secret,id=other,required true')
      expect(await failureOf(host, required)).toMatchObject({ code: 'step_failed', step: 2 })
    })

    test('mounts caches, files of other stages and tmpfs', async () => {
      const host = rig.host(isolation)
      const context = await rig.context({ 'dir/file': 'bound', single: 'one' })
      const text = (line: string) => `FROM base
RUN mkdir -p /there && echo under > /there/under
RUN --mount=type=cache,target=/cache/deep,id=c --mount=type=bind,source=dir,target=/there --mount=type=bind,source=single,target=/one \
  --mount=type=bind,from=base,source=/etc,target=/other --mount=type=tmpfs,target=/scratch \
  ${line}`
      const first = text(
        'cat /there/file /one > /got; test -e /other/os-release; echo x > /scratch/x; echo 1 >> /cache/deep/count',
      )
      const { imageDigest } = await build(host, requestOf(first, { context }))
      expect(await rig.text(imageDigest, '/got')).toBe('boundone')
      expect(await rig.text(imageDigest, '/there/under')).toBe('under\n')
      const listing = await rig.list(imageDigest)
      for (const path of ['cache', 'one', 'other', 'scratch', 'there/file']) expect(listing.get(path)).toBeUndefined()
      const second = await build(host, requestOf(text('cat /cache/deep/count > /count'), { context }))
      expect(await rig.text(second.imageDigest, '/count')).toBe('1\n')
    })

    test('runs here-documents with their interpreters', async () => {
      const text = `FROM base
RUN <<EOF
cd /tmp
pwd > /one
EOF
RUN <<EOF
#!/usr/bin/env -S bash -x
echo "$BASH" > /two
EOF
RUN cat <<EOF > /three
text
EOF`
      const { imageDigest } = await build(rig.host(isolation), requestOf(text))
      expect(await rig.text(imageDigest, '/one')).toBe('/tmp\n')
      expect(await rig.text(imageDigest, '/two')).toMatch(/bash\n$/)
      expect(await rig.text(imageDigest, '/three')).toBe('text\n')
      expect((await rig.list(imageDigest)).get('dev/pipes')).toBeUndefined()
    })

    test('adds files of URLs and archives of the context', async () => {
      const host = rig.host(isolation)
      const url = 'https://example.test/dir/file.txt'
      host.addresses.set(url, { name: 'file.txt', modifiedAtSecs: 1_600_000_000, mode: 0o600, text: 'fetched' })
      const context = await rig.context({ 'sub/x': 'x' })
      const good = 'sha256:0a46ba99c4a2f4d48d2e5d06a5f6a0f7b6b1b5c4bb8fdbb2cb5c0a4e2ac1b7c7'
      const { imageDigest } = await build(host, requestOf(`FROM base\nADD ${url} /got/\nADD sub /sub`, { context }))
      expect((await rig.list(imageDigest)).get('got/file.txt')).toMatch(/^f 600 0 0 1600000000 /)
      expect(await rig.text(imageDigest, '/got/file.txt')).toBe('fetched')
      const failure = await failureOf(host, requestOf(`FROM base\nADD --checksum=${good} ${url} /`))
      expect(failure).toMatchObject({ code: 'step_failed', step: 2 })
      expect(failure.message).toContain('digest')
    })

    test('reports the needed disk size, and that size is enough', async () => {
      const host = rig.host(isolation)
      const text = (mib: number) => `FROM base\nRUN dd if=/dev/urandom of=/data bs=1M count=${mib} 2>&1`
      const failure = await failureOf(host, requestOf(text(150), { diskMiB: 100 }))
      expect(failure).toMatchObject({ code: 'disk_too_small', step: 2 })
      const required = Number(failure.details.required_mib)
      expect(failure.hint).toContain(String(required))
      const { sizeBytes } = await build(host, requestOf(text(150), { diskMiB: required, noCache: true }))
      expect(sizeBytes).toBeLessThanOrEqual(required * 2 ** 20)
      expect(await failureOf(host, requestOf(text(150), { diskMiB: 100 }))).toMatchObject({ code: 'disk_too_small' })
    })

    test('reports a full disk in a step, and a too large image before any step', async () => {
      const host = rig.host(isolation)
      const filled = await failureOf(
        host,
        requestOf('FROM base\nRUN dd if=/dev/zero of=/data bs=1M 2>&1', { diskMiB: 64 }),
      )
      expect(filled).toMatchObject({ code: 'disk_too_small', step: 2 })
      expect(filled.details.required_mib).toBeGreaterThan(64)
      const early = await failureOf(host, requestOf('FROM base\nRUN touch /never', { diskMiB: 8 }))
      expect(early).toMatchObject({ code: 'disk_too_small' })
      expect(host.lines.filter((line) => line.includes('touch /never'))).toEqual([])
    })

    test('ends on a cancel, and leaves nothing', async () => {
      const host = rig.host(isolation)
      const stop = new AbortController()
      const reason = new Error('cancelled')
      const request = requestOf('FROM base\nRUN echo first\nRUN echo begun; sleep 1000')
      const running = runBuild(request, host, stop.signal).catch((error: unknown) => error)
      await expect.poll(() => host.lines.includes('begun'), { timeout: 60_000 }).toBe(true)
      stop.abort(reason)
      expect(await running).toBe(reason)
      expect(await rig.runtimes()).toEqual([])
      const kept = new Set(
        [...host.entries.values()].flatMap((entry) => ('checkpointId' in entry ? [entry.checkpointId] : [])),
      )
      const there = (await rig.engine.ability('checkpoints')?.list()) ?? []
      const mine = there.filter(({ checkpointId }) => host.checkpoints.includes(checkpointId))
      expect(mine.every(({ checkpointId }) => kept.has(checkpointId))).toBe(true)
    })

    test('ends at its time limit', async () => {
      const failure = await failureOf(rig.host(isolation), requestOf('FROM base\nRUN sleep 1000', { timeoutMs: 3_000 }))
      expect(failure).toMatchObject({ code: 'build_timeout' })
      expect(failure.hint).toContain('timeout_secs')
    })

    test('builds on an image with steps, on a template, and on a snapshot', async () => {
      const host = rig.host(isolation)
      const steps = [{ env: { A: '1' } }, { run: 'echo "$A" > /a' }, { workdir: '/srv/app' }, { user: '7:8' }]
      const first = await build(host, { ...requestOf(''), source: { type: 'image', reference: 'base', steps } })
      expect(await rig.text(first.imageDigest, '/a')).toBe('1\n')
      expect(first.settings).toMatchObject({ user: '7:8', workdir: '/srv/app', env: { A: '1' } })
      host.templates.set('mine', {
        reference: 'mine:latest',
        imageDigest: first.imageDigest,
        settings: first.buildSettings,
        env: first.settings.env,
      })
      const text = 'FROM holt/mine\nRUN id -u; pwd > /tmp/where'
      const second = await build(host, requestOf(text, { user: 'nobody', workdir: '/var/own' }))
      expect(await rig.text(second.imageDigest, '/tmp/where')).toBe('/srv/app\n')
      expect(host.lines).toContain('7')
      expect(second.settings).toMatchObject({ user: 'nobody', workdir: '/var/own' })
      expect((await rig.list(second.imageDigest)).get('var/own')).toMatch(/^d /)
      const { imageDigest, buildSettings } = second
      host.snapshots.set('before', {
        reference: 'before',
        imageDigest,
        settings: buildSettings,
        env: { OF: 'runtime' },
      })
      const third = await build(host, {
        ...requestOf(''),
        source: { type: 'snapshot', reference: 'before', steps: [{ user: '0' }, { run: 'cp /tmp/where /kept' }] },
      })
      expect(await rig.text(third.imageDigest, '/kept')).toBe('/srv/app\n')
      expect(third.source).toBe('before')
      const unknown = await failureOf(host, requestOf('FROM base', { user: 'nobody-knows' }))
      expect(unknown).toMatchObject({ code: 'unsupported_setting' })
      expect(await failureOf(host, requestOf('FROM absent'))).toMatchObject({ code: 'image_not_found', step: 1 })
    })

    test('boots no runtime for an unchanged image', async () => {
      const host = rig.host(isolation)
      const { imageDigest } = await build(host, requestOf('FROM base\nENV A=1\nWORKDIR /etc'))
      const base = await host.images.ensure(
        await host.images.resolve('base', { auth: null, onProgress: () => {}, signal: AbortSignal.timeout(1) }),
        { auth: null, onProgress: () => {}, signal: AbortSignal.timeout(1) },
      )
      expect(imageDigest).toBe(base.imageDigest)
    })
  })

  test('replaces a cached checkpoint of an earlier version without a start command', async () => {
    const host = rig.host('gvisor')
    const text = 'FROM base\nRUN echo first > /one'
    const started = await build(host, requestOf(text, { startCmd: 'true' }))
    expect(started.checkpoint).not.toBeNull()
    const [key = '', result] = [...host.entries].at(-1) ?? []
    expect(result?.type).toBe('checkpoint')
    const plain = await build(host, requestOf(text))
    const [plainKey = ''] = [...host.entries].at(-1) ?? []
    expect(plainKey).not.toBe(key)
    if (result !== undefined) host.entries.set(plainKey, result)
    const again = await build(host, requestOf(text))
    expect(again).toEqual(plain)
    expect(host.entries.get(plainKey)?.type).toBe('image')
    expect(new Set(statesOf(host))).toEqual(new Set(['cached']))
  })
})
