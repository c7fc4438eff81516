// biome-ignore-all lint/suspicious/noTemplateCurlyInString: words of Dockerfiles have variables.
import { describe, expect, test } from 'vitest'
import type { BuildPlan, Instruction } from '../../src/dockerfile/plan.ts'
import { type PlanOptions, planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import type { BuildError } from '../../src/errors.ts'

const amd64 = { platform: { os: 'linux', arch: 'amd64' } }
const plan = (text: string, options: PlanOptions = {}): BuildPlan => planDockerfile(text, { ...amd64, ...options })

/** The one instruction of a stage with it. */
function only(text: string, head = ''): Instruction {
  const { stages } = plan(`${head}FROM a AS one\nFROM b AS two\n${text}`)
  const instruction = stages.at(-1)?.instructions[0]
  if (instruction === undefined) throw new Error('no instruction')
  return instruction
}

function failure(text: string, options: PlanOptions = {}): BuildError {
  try {
    plan(text, options)
  } catch (error) {
    return error as BuildError
  }
  throw new Error('it was planned')
}

describe('RUN', () => {
  test.each([
    ['RUN echo hi', { type: 'shell', script: 'echo hi' }],
    ['run  echo   hi  ', { type: 'shell', script: 'echo   hi' }],
    ['RUN a && \\\n  b', { type: 'shell', script: 'a &&   b' }],
    ['RUN a \\\n# comment\n\n   # more \\\n b', { type: 'shell', script: 'a  b' }],
    ['RUN a \\  \n b', { type: 'shell', script: 'a  b' }],
    ['RUN echo a\\\\\nRUN b', { type: 'shell', script: 'echo a\\\\' }],
    ['RUN echo "# no comment"', { type: 'shell', script: 'echo "# no comment"' }],
    ['RUN echo $x \\$y', { type: 'shell', script: 'echo $x \\$y' }],
    ['RUN ["a", "b c", "$x"]', { type: 'exec', argv: ['a', 'b c', '$x'] }],
    ['RUN [ "a", \\\n "b" ]', { type: 'exec', argv: ['a', 'b'] }],
    ["RUN ['a']", { type: 'shell', script: "['a']" }],
    ['RUN [ -f x ] && y', { type: 'shell', script: '[ -f x ] && y' }],
    ['RUN <<EOF\na\n  b\n# c\nEOF', { type: 'heredoc', script: 'a\n  b\n# c\n' }],
    ['RUN <<"END"\n$x\nEND', { type: 'heredoc', script: '$x\n' }],
    ['RUN <<-EOF\n\ta\n\t\tb\n\tEOF', { type: 'heredoc', script: 'a\nb\n' }],
    ['RUN << EOF\na\nEOF', { type: 'heredoc', script: 'a\n' }],
    ["RUN <<'one two'\na\none two", { type: 'heredoc', script: 'a\n' }],
    ['RUN <<EOF\n\nEOF', { type: 'heredoc', script: '\n' }],
    ['RUN <<EOF\nEOF', { type: 'heredoc', script: '' }],
    ['RUN <<EOF\nFROM x\nRUN y \\\nEOF', { type: 'heredoc', script: 'FROM x\nRUN y \\\n' }],
    ['RUN cat <<EOF > /x\na\nEOF', { type: 'shell', script: 'cat <<EOF > /x\na\nEOF' }],
    ['RUN cat <<A 3<<-B \\\n > /x\na\nA\n\tb\n\tB', { type: 'shell', script: 'cat <<A 3<<-B  > /x\na\nA\n\tb\nB' }],
    ['RUN echo "<<EOF"', { type: 'shell', script: 'echo "<<EOF"' }],
    ['RUN cat <<<x', { type: 'shell', script: 'cat <<<x' }],
    ['RUN echo $((1<<2))', { type: 'shell', script: 'echo $((1<<2))' }],
    ['RUN ["cat", "<<EOF"]', { type: 'exec', argv: ['cat', '<<EOF'] }],
    ['RUN -- --mount', { type: 'shell', script: '--mount' }],
  ])('%j', (text, form) => {
    expect(only(text)).toMatchObject({ type: 'run', form, mounts: [], noNetwork: false })
  })

  test('--network', () => {
    expect(only('RUN --network=none x')).toMatchObject({ noNetwork: true })
    expect(only('RUN --network=default x')).toMatchObject({ noNetwork: false })
  })

  const anyOwner = { mode: null, uid: null, gid: null }
  test.each([
    ['type=bind,target=/x', { type: 'bind', target: '/x', from: { type: 'context' }, source: '/', readOnly: true }],
    [
      'target=/x,from=one,source=/y,rw',
      { type: 'bind', target: '/x', from: { type: 'stage', index: 0 }, source: '/y', readOnly: false },
    ],
    [
      'dst=/x,from=nginx:1,src=y,readonly=true',
      { type: 'bind', target: '/x', from: { type: 'image', reference: 'nginx:1' }, source: 'y', readOnly: true },
    ],
    [
      'type=cache,target=/x',
      {
        type: 'cache',
        target: '/x',
        id: '/x',
        from: null,
        source: '/',
        sharing: 'shared',
        readOnly: false,
        ...anyOwner,
      },
    ],
    [
      'TYPE=Cache,destination=$x,id=i,sharing=LOCKED,mode=0755,uid=5,gid=$g,from=holt/base-small,ro',
      {
        type: 'cache',
        target: '$x',
        id: 'i',
        from: { type: 'template', reference: 'base-small' },
        source: '/',
        sharing: 'locked',
        mode: '0755',
        uid: '5',
        gid: '$g',
        readOnly: true,
      },
    ],
    ['type=tmpfs,target=/x', { type: 'tmpfs', target: '/x', sizeBytes: null }],
    ['type=tmpfs,target=/x,size=1.5m', { type: 'tmpfs', target: '/x', sizeBytes: 1.5 * 2 ** 20 }],
    ['type=secret,id=token', { type: 'secret', id: 'token', target: null, env: null, required: false, ...anyOwner }],
    [
      'type=secret,target=/a/key,required,mode=0400,uid=1',
      { type: 'secret', id: 'key', target: '/a/key', env: null, required: true, mode: '0400', uid: '1', gid: null },
    ],
    [
      'type=secret,id=token,env=TOKEN,required=false',
      { type: 'secret', id: 'token', target: null, env: 'TOKEN', required: false, ...anyOwner },
    ],
    [
      '"type=bind","target=/a,b"',
      { type: 'bind', target: '/a,b', from: { type: 'context' }, source: '/', readOnly: true },
    ],
  ])('--mount=%s', (mount, expected) => {
    const quoted = mount.includes('"') ? `'${mount}'` : mount
    expect(only(`RUN --mount=${quoted} --mount=type=tmpfs,target=/t x`)).toMatchObject({
      form: { type: 'shell', script: 'x' },
      mounts: [expected, { type: 'tmpfs', target: '/t', sizeBytes: null }],
    })
  })
})

describe('COPY and ADD', () => {
  const plain = {
    type: 'copy',
    add: false,
    from: { type: 'context' },
    heredocs: [],
    chown: null,
    chmod: null,
    checksum: null,
    parents: false,
    exclude: [],
    unpack: null,
  }
  const digest = `sha256:${'0'.repeat(64)}`
  test.each<readonly [string, object]>([
    ['COPY a b', { ...plain, sources: ['a'], destination: 'b' }],
    ['COPY a* $x b/', { ...plain, sources: ['a*', '$x'], destination: 'b/' }],
    ['COPY a b .', { ...plain, sources: ['a', 'b'], destination: '.' }],
    ['COPY a b $dir', { ...plain, sources: ['a', 'b'], destination: '$dir' }],
    ['COPY ["a b", "c d/"]', { ...plain, sources: ['a b'], destination: 'c d/' }],
    ['COPY --from=one a b', { ...plain, from: { type: 'stage', index: 0 }, sources: ['a'], destination: 'b' }],
    ['COPY --from=ONE a b', { ...plain, from: { type: 'stage', index: 0 }, sources: ['a'], destination: 'b' }],
    ['COPY --from=0 a b', { ...plain, from: { type: 'stage', index: 0 }, sources: ['a'], destination: 'b' }],
    [
      'COPY --from=x/y:1 a b',
      { ...plain, from: { type: 'image', reference: 'x/y:1' }, sources: ['a'], destination: 'b' },
    ],
    [
      'COPY --from=holt/mine:2 a b',
      { ...plain, from: { type: 'template', reference: 'mine:2' }, sources: ['a'], destination: 'b' },
    ],
    [
      'COPY --chown=$u:g --chmod=0755 --parents --exclude=*.o --exclude=x a b',
      {
        ...plain,
        chown: '$u:g',
        chmod: '0755',
        parents: true,
        exclude: ['*.o', 'x'],
        sources: ['a'],
        destination: 'b',
      },
    ],
    ['COPY --parents=false --link=false a b', { ...plain, sources: ['a'], destination: 'b' }],
    [
      'COPY <<one.txt <<-"two.txt" c /d/\n1 $x\none.txt\n\t2\n\ttwo.txt',
      {
        ...plain,
        sources: ['c'],
        heredocs: [
          { name: 'one.txt', content: '1 $x\n', expand: true },
          { name: 'two.txt', content: '2\n', expand: false },
        ],
        destination: '/d/',
      },
    ],
    ['ADD a.tar /x', { ...plain, add: true, sources: ['a.tar'], destination: '/x' }],
    [
      `ADD --checksum=${digest} --unpack --chown=1 HTTPS://x.org/a /x`,
      {
        ...plain,
        add: true,
        checksum: digest,
        unpack: true,
        chown: '1',
        sources: ['HTTPS://x.org/a'],
        destination: '/x',
      },
    ],
    ['ADD --unpack=false a /x', { ...plain, add: true, unpack: false, sources: ['a'], destination: '/x' }],
    ['ADD github.com/a/b /x', { ...plain, add: true, sources: ['github.com/a/b'], destination: '/x' }],
  ])('%j', (text, expected) => {
    expect(only(text)).toMatchObject(expected)
  })
})

describe('settings', () => {
  test.each<readonly [string, object]>([
    ['ENV a=b', { type: 'env', pairs: [{ name: 'a', value: 'b' }] }],
    ['ENV a=', { type: 'env', pairs: [{ name: 'a', value: '' }] }],
    ['ENV a b  c="d"', { type: 'env', pairs: [{ name: 'a', value: 'b  c="d"' }] }],
    [
      'ENV a="b c" d=e\\ f \\\n  g=\'h i\' "j k"=$l m=n=o',
      {
        type: 'env',
        pairs: [
          { name: 'a', value: '"b c"' },
          { name: 'd', value: 'e\\ f' },
          { name: 'g', value: "'h i'" },
          { name: '"j k"', value: '$l' },
          { name: 'm', value: 'n=o' },
        ],
      },
    ],
    [
      'LABEL "com.example"="a b" x=y',
      {
        type: 'label',
        pairs: [
          { name: '"com.example"', value: '"a b"' },
          { name: 'x', value: 'y' },
        ],
      },
    ],
    ['ARG a', { type: 'arg', args: [{ name: 'a', default: null }] }],
    [
      'ARG a= b="c d" e',
      {
        type: 'arg',
        args: [
          { name: 'a', default: '' },
          { name: 'b', default: '"c d"' },
          { name: 'e', default: null },
        ],
      },
    ],
    ['WORKDIR /a b/$c', { type: 'workdir', path: '/a b/$c' }],
    ['USER app:$group', { type: 'user', user: 'app:$group' }],
    ['SHELL ["/bin/bash", "-o", "pipefail", "-c"]', { type: 'shell', shell: ['/bin/bash', '-o', 'pipefail', '-c'] }],
    [
      'EXPOSE 80 443/tcp 53/UDP 8000-8010 $port "$p/tcp"',
      { type: 'expose', ports: ['80', '443/tcp', '53/UDP', '8000-8010', '$port', '"$p/tcp"'] },
    ],
  ])('%j', (text, expected) => {
    expect(only(text)).toMatchObject(expected)
  })

  test('a backtick continues lines if it is the escape character', () => {
    const { escape: escapeChar, stages } = plan('# escape=`\nFROM a\nRUN a `\n  b\nRUN c \\\nENV d=e` f')
    expect(escapeChar).toBe('`')
    expect(
      stages[0]?.instructions.map((instruction) => ('form' in instruction ? instruction.form : instruction)),
    ).toMatchObject([{ script: 'a   b' }, { script: 'c \\' }, { pairs: [{ name: 'd', value: 'e` f' }] }])
  })

  test('lines can have CRLF ends, a byte order mark and indentation', () => {
    const { stages } = plan('\uFEFFFROM a\r\n  RUN x \\\r\n  y\r\n\tRUN <<EOF\r\nz\r\nEOF\r\n')
    expect(stages[0]?.instructions).toMatchObject([
      { line: 2, form: { script: 'x   y' } },
      { line: 4, form: { script: 'z\r\n' } },
    ])
  })
})

describe('a here-document with CRLF line ends', () => {
  const crlf = (text: string) => plan(text.replaceAll('\n', '\r\n'))

  // Results of moby/buildkit for the same files: frontend/dockerfile, `Parse` and `dispatchRun`.
  test.each<readonly [string, object]>([
    ['RUN <<EOF\nset -e\necho $X\nEOF\n', { form: { type: 'heredoc', script: 'set -e\r\necho $X\r\n' } }],
    ['RUN <<-EOF\n\techo a\n\tEOF', { form: { type: 'heredoc', script: 'echo a\r\n' } }],
    ['RUN <<EOF cat >/x\na\nEOF\n', { form: { type: 'shell', script: '<<EOF cat >/x\na\r\nEOF' } }],
    ['RUN cat <<A <<B >/x\na\nA\nb\nB\n', { form: { type: 'shell', script: 'cat <<A <<B >/x\na\r\nA\nb\r\nB' } }],
    ['COPY <<"a.txt" /\n1\n\n2\na.txt\n', { heredocs: [{ name: 'a.txt', content: '1\r\n\r\n2\r\n' }] }],
    ['RUN <<EOF\n#!/bin/sh\nx\nEOF\n', { form: { type: 'heredoc', script: '#!/bin/sh\r\nx\r\n' } }],
    ['RUN <<EOF\na\r\nEOF\r\n', { form: { type: 'heredoc', script: 'a\r\r\n' } }],
    ['RUN <<EOF\na\rEOF\nEOF\n', { form: { type: 'heredoc', script: 'a\rEOF\r\n' } }],
    ['RUN <<-EOF\n\ta\r\tb\n\tEOF\n', { form: { type: 'heredoc', script: 'a\r\tb\r\n' } }],
  ])('%j is read as BuildKit reads it', (text, expected) => {
    expect(crlf(`FROM a\n${text}`).stages[0]?.instructions).toMatchObject([expected])
  })

  test('of RUN gives one warning, with its line', () => {
    const warnings = crlf('FROM a\nRUN x\nCOPY <<a /\n1\na\nRUN <<EOF\nz\nEOF\nRUN <<EOF\nz\nEOF').warnings
    expect(warnings).toEqual([expect.stringMatching(/^Line 6: .*CRLF.*BuildKit.*save the Dockerfile with LF/)])
    expect(plan('FROM a\nRUN <<EOF\nz\nEOF').warnings).toEqual([])
    expect(crlf('FROM a\nRUN x \\\n y').warnings).toEqual([])
  })
})

describe('FROM', () => {
  test.each<readonly [string, object]>([
    ['FROM debian', { type: 'image', reference: 'debian' }],
    [
      'FROM r.example:5000/a/b:1@sha256:'.concat('a'.repeat(64)),
      { type: 'image', reference: `r.example:5000/a/b:1@sha256:${'a'.repeat(64)}` },
    ],
    ['FROM scratch', { type: 'scratch' }],
    ['FROM holt/base-small', { type: 'template', reference: 'base-small' }],
    ['FROM holt/mine:v1.2', { type: 'template', reference: 'mine:v1.2' }],
    ['FROM docker.io/holt/mine', { type: 'image', reference: 'docker.io/holt/mine' }],
    ['FROM --platform=linux/amd64 debian', { type: 'image', reference: 'debian' }],
    ['FROM --platform=$BUILDPLATFORM debian', { type: 'image', reference: 'debian' }],
    ['FROM --platform=${TARGETOS}/x86_64 debian', { type: 'image', reference: 'debian' }],
    ['FROM --platform=amd64 debian', { type: 'image', reference: 'debian' }],
    ['ARG V=12\nARG IMAGE=debian:$V\nFROM ${IMAGE}-slim', { type: 'image', reference: 'debian:12-slim' }],
    ['ARG V\nFROM debian:${V:-13}', { type: 'image', reference: 'debian:13' }],
    ['FROM "debian"', { type: 'image', reference: 'debian' }],
    ['FROM a-$TARGETARCH', { type: 'image', reference: 'a-amd64' }],
  ])('%j', (text, base) => {
    expect(plan(text).stages).toMatchObject([{ base }])
  })

  test('build arguments replace defaults if they are declared', () => {
    const text = 'ARG V=1\nFROM a:$V$W'
    expect(plan(text, { buildArgs: { V: '2', W: 'w' } }).stages[0]?.base).toEqual({ type: 'image', reference: 'a:2' })
  })

  test('global arguments have their values at the first FROM', () => {
    const { globalArgs } = plan('ARG A=1 B C=$A\nARG __proto__=p\nFROM a\nARG D=4', {
      buildArgs: { B: 'b', TARGETARCH: 'other' },
    })
    expect({ ...globalArgs }).toMatchObject({
      A: '1',
      B: 'b',
      C: '1',
      TARGETPLATFORM: 'linux/amd64',
      TARGETARCH: 'other',
    })
    expect(Object.keys(globalArgs)).not.toContain('D')
    expect(Object.entries(globalArgs)).toContainEqual(['__proto__', 'p'])
    expect(globalArgs.constructor).toBeUndefined()
  })

  test('a name means the last earlier stage with it, before an image', () => {
    const { stages, warnings } = plan('FROM x AS a\nRUN 1\nFROM a AS A\nRUN 2\nFROM a\nCOPY --from=a b c')
    expect(stages.map(({ index, base }) => [index, base])).toEqual([
      [0, { type: 'image', reference: 'x' }],
      [1, { type: 'stage', index: 0 }],
      [2, { type: 'stage', index: 1 }],
    ])
    expect(warnings).toEqual([expect.stringMatching(/^Line 3: an earlier stage is also named a\./)])
  })
})

describe('stages', () => {
  const text = [
    'FROM a AS base',
    'FROM base AS tools',
    'RUN x',
    'FROM b AS unused',
    'CMD unused',
    'FROM c AS assets',
    'FROM d AS app',
    'COPY --from=assets / /',
    'RUN --mount=from=2,target=/m --mount=type=cache,from=tools,target=/c x',
    'CMD app',
    'FROM app AS test',
  ].join('\n')
  const order = (target: string | null) => plan(text, { target }).stages.map(({ name }) => name)

  test('only those that the target needs, each after its dependencies', () => {
    expect(order(null)).toEqual(['assets', 'unused', 'base', 'tools', 'app', 'test'])
    expect(order('app')).toEqual(['assets', 'unused', 'base', 'tools', 'app'])
    expect(order('TOOLS')).toEqual(['base', 'tools'])
    expect(order('3')).toEqual(['assets'])
  })

  test('ignored instructions are reported for built stages, with every line', () => {
    const { ignored, lines } = plan(text, { target: 'base' })
    expect(ignored).toEqual([])
    expect(lines).toHaveLength(11)
    expect(plan(text, { target: 'app' }).ignored).toEqual([
      { instruction: 'CMD', line: 5, reason: expect.any(String) },
      { instruction: 'CMD', line: 10, reason: expect.any(String) },
    ])
  })

  test('a stage can copy files of a later one, and not of itself', () => {
    expect(plan('FROM a AS x\nCOPY --from=y b c\nFROM d AS y', { target: 'x' }).stages.map(({ name }) => name)).toEqual(
      ['y', 'x'],
    )
    for (const circle of [
      'FROM a AS x\nCOPY --from=x b c',
      'FROM a AS x\nCOPY --from=y b c\nFROM x AS y',
      'FROM a\nRUN --mount=from=0,target=/x y',
    ]) {
      expect(failure(circle)).toMatchObject({
        code: 'dockerfile_invalid',
        message: expect.stringContaining('needs itself'),
      })
    }
    expect(failure('FROM a AS x\nCOPY --from=x b c\nFROM b').message).toContain('Line 2')
  })

  test('an unknown target is reported with the existing ones', () => {
    expect(failure(text, { target: 'nope' })).toMatchObject({
      code: 'dockerfile_invalid',
      message: expect.stringContaining('nope'),
      hint: expect.stringContaining('tools, unused'),
    })
    expect(failure(text, { target: '6' }).code).toBe('dockerfile_invalid')
  })
})

test('ignored instructions are reported, with any text', () => {
  const names = ['CMD', 'ENTRYPOINT', 'HEALTHCHECK', 'STOPSIGNAL', 'VOLUME', 'ONBUILD', 'MAINTAINER']
  const { ignored, stages, lines } = plan(
    `FROM a\n${names.map((name) => `${name} ["x" \${`).join('\n')}\nONBUILD RUN <<E\nFROM z\nE`,
  )
  expect(ignored.map(({ instruction }) => instruction)).toEqual([...names, 'ONBUILD'])
  expect(stages[0]?.instructions).toEqual([])
  expect(lines.at(-1)).toMatchObject({ line: 9, end_line: 11, verdict: 'ignored' })
})

test('warns of unusual instructions', () => {
  const { warnings } = plan('FROM a\nRUN a \\\n\n  b\nCOPY --link a b')
  expect(warnings).toEqual([expect.stringMatching(/Line 2.*empty line/), expect.stringMatching(/Line 5.*--link/)])
})

describe('refuses', () => {
  test.each<readonly [string, RegExp, RegExp | null]>([
    ['# syntax=foo/bar\nFROM a', /frontend foo\/bar/, /docker\/dockerfile/],
    ['# syntax=docker/dockerfile.evil:1\nFROM a', /frontend/, null],
    ['FROM a\nRUN --security=insecure x', /--security/, /Remove/],
    ['FROM a\nRUN --security=sandbox x', /--security/, null],
    ['FROM a\nRUN --network=host x', /--network=host/, /network_policy/],
    ['FROM a\nRUN --device=x y', /--device/, null],
    ['FROM a\nRUN --mount=type=ssh x', /type=ssh/, /secret/],
    ['FROM a\nRUN --foo x', /no flag --foo/, /--mount/],
    ['FROM a\nADD git@github.com:a/b.git /x', /Git/, /archive/],
    ['FROM a\nADD https://github.com/a/b.git#main /x', /Git/, null],
    ['FROM a\nADD ssh://git@x/y /x', /Git/, null],
    ['FROM a\nADD git://x/y /x', /Git/, null],
    ['FROM a\nADD --keep-git-dir=true https://x/y /x', /Git/, null],
    ['FROM a\nCOPY --unpack a b', /no flag --unpack/, /--from/],
    ['FROM a\nADD --from=x a b', /no flag --from/, null],
    ['FROM --platform=linux/riscv64 a', /linux\/riscv64/, /machine/],
    ['FROM --platform=windows/amd64 a', /windows/, null],
    ['FROM --foo a', /no flag --foo/, null],
  ])('%j as not offered', (text, message, hint) => {
    const error = failure(text)
    expect(error).toMatchObject({ code: 'unsupported_setting', message: expect.stringMatching(message) })
    expect(error.hint).toMatch(hint ?? /./)
  })

  test.each<readonly [string, RegExp]>([
    ['', /no FROM/],
    ['# only a comment', /no FROM/],
    ['RUN x\nFROM a', /before the first FROM/],
    ['FROM', /names no image/],
    ['FROM a b', /only AS/],
    ['FROM a AS', /only AS/],
    ['FROM a AS b c', /only AS/],
    ['FROM a AS 1x', /not a stage name/],
    ['FROM A', /not an image name/],
    ['FROM ../x', /not an image name/],
    ['FROM holt/Bad', /not a template name/],
    ['ARG X\nFROM $X', /is empty/],
    ['ARG X=$', /no FROM/],
    ['ARG X=${\nFROM a', /cannot be read/],
    ['FROM "a', /cannot be read/],
    ['ARG A=${B:?needed}\nARG B=1\nFROM a$A', /Line 1: B: needed/],
    ['FROM ${X:?missing}', /X: missing/],
    ['FROM a\nFOO x', /FOO is not an instruction\.$/],
    ['FROM a\nRUNN x', /RUNN is not an instruction\. Did you mean RUN\?$/],
    ['FROM a\nWORKDR /x', /WORKDR is not an instruction\. Did you mean WORKDIR\?$/],
    ['FROM a\n<<<<<<< HEAD', /is not an instruction/],
    ['FROM a\nRUN', /no command/],
    ['FROM a\nRUN []', /no command/],
    ['FROM a\nRUN ["a", 1]', /strings only/],
    ['FROM a\nRUN <<EOF\nx', /<<EOF has no end/],
    ['FROM a\nRUN --mount=type=foo,target=/x y', /not a mount type/],
    ['FROM a\nRUN --mount=type=bind y', /no target/],
    ['FROM a\nRUN --mount=type=bind,target=/x,foo=1 y', /"foo" is not a field/],
    ['FROM a\nRUN --mount=type=bind,target=/x,uid=1 y', /has no "uid"/],
    ['FROM a\nRUN --mount=type=tmpfs,target=/x,from=a y', /has no "from"/],
    ['FROM a\nRUN --mount=type=secret y', /neither id nor target/],
    ['FROM a\nRUN --mount=type=cache,target=/x,sharing=all y', /sharing/],
    ['FROM a\nRUN --mount=type=cache,target=/x,mode=9 y', /octal/],
    ['FROM a\nRUN --mount=type=tmpfs,target=/x,size=big y', /not a size/],
    ['FROM a\nRUN --mount=type=tmpfs,target=/x,size=999999999999t y', /size/],
    ['FROM a\nRUN --mount=type=bind,target=/x,ro=maybe y', /neither true nor false/],
    ['FROM a\nRUN --mount=target=/x,from=$y z', /variable/],
    ['FROM a\nRUN --mount y', /no value/],
    ['FROM a\nRUN --network=bridge y', /not a network/],
    ['FROM a\nCOPY a', /a source and a destination/],
    ['FROM a\nCOPY a b c', /must be a directory/],
    ['FROM a\nCOPY <<EOF\nx\nEOF', /a source and a destination/],
    ['FROM a\nCOPY x <<EOF\nx\nEOF', /as its destination/],
    ['FROM a\nCOPY <<a/b /x\nx\na/b', /not a file name/],
    ['FROM a\nCOPY --from=5 a b', /no stage 5/],
    ['FROM a\nCOPY --from=$x a b', /variable/],
    ['FROM a\nCOPY --from=scratch a b', /scratch/],
    ['FROM a\nCOPY --from= a b', /no value/],
    ['FROM a\nCOPY --chown=a --chown=b c d', /twice/],
    ['FROM a\nCOPY --chmod=999 a b', /octal/],
    ['FROM a\nCOPY --chmod=u+q a b', /symbolic/],
    ['FROM a\nCOPY --chmod=u+x, a b', /symbolic/],
    ['FROM a\nCOPY --chmod=rwx a b', /symbolic/],
    ['FROM a\nCOPY https://x/y z', /cannot fetch a URL/],
    ['FROM a\nCOPY ["a", 1]', /strings only/],
    ['FROM a\nADD --checksum=md5:1 https://x/y z', /SHA-256/],
    [`FROM a\nADD --checksum=sha256:${'0'.repeat(64)} x z`, /exactly one source/],
    ['FROM a\nENV', /no name/],
    ['FROM a\nENV a', /no value/],
    ['FROM a\nENV a=b c', /has no "="/],
    ['FROM a\nENV =b', /empty name/],
    ['FROM a\nLABEL a', /no value/],
    ['FROM a\nARG', /no name/],
    ['FROM a\nARG =x', /empty name/],
    ['FROM a\nWORKDIR', /no value/],
    ['FROM a\nUSER', /no value/],
    ['FROM a\nSHELL /bin/sh', /JSON/],
    ['FROM a\nSHELL []', /no program/],
    ['FROM a\nEXPOSE', /no port/],
    ['FROM a\nEXPOSE http', /not a port/],
    ['FROM a\nEXPOSE 70000', /not a port/],
    ['FROM a\nEXPOSE 80/icmp', /not a port/],
  ])('%j as wrong', (text, message) => {
    expect(failure(text)).toMatchObject({ code: 'dockerfile_invalid', message: expect.stringMatching(message) })
  })

  test.each([
    ['# escape=x\nFROM a', /neither/],
    ['# escape=`\n# escape=`\nFROM a', /two directives/],
    ['#!/usr/bin/env build\n# syntax=foo\nFROM a', /Line 2: The frontend foo/],
    ['\uFEFF# syntax=foo\nFROM a', /Line 1: The frontend foo/],
  ])('%j', (text, message) => {
    expect(failure(text).message).toMatch(message)
  })

  test('reports all wrong lines at once, and they come first', () => {
    const error = failure('# syntax=x\nFROM a\nRUN --network=host x\nFOO\nRUN ok\nENV')
    expect(error.code).toBe('dockerfile_invalid')
    expect(error.message).toBe('Line 4: FOO is not an instruction. (3 more lines are refused.)')
    expect(error.details.lines).toMatchObject([
      { line: 1, instruction: '# syntax', verdict: 'refused' },
      { line: 3, instruction: 'RUN' },
      { line: 4, instruction: 'FOO' },
      { line: 6, instruction: 'ENV' },
    ])
  })

  test('too many of anything', () => {
    expect(failure(`FROM a\n${'RUN x\n'.repeat(5000)}`).message).toMatch(/5000 instructions/)
    expect(failure('FROM a\n'.repeat(201)).message).toMatch(/200 stages/)
    expect(failure(`FROM a\nCOPY ${'x '.repeat(1001)}/`).message).toMatch(/1000 sources/)
    expect(failure(`FROM a\nENV ${'x=1 '.repeat(1001)}`).message).toMatch(/1000 names/)
    expect(failure(`FROM a\nRUN ${'--mount=type=tmpfs,target=/x '.repeat(51)} y`).message).toMatch(/50 mounts/)
    expect(failure(`FROM a\nCOPY ${'--exclude=x '.repeat(101)} a b`).message).toMatch(/100 --exclude/)
  })
})

test.each([
  'docker/dockerfile',
  'docker/dockerfile:1',
  'docker/dockerfile:1.7-labs',
  'docker.io/docker/dockerfile:1',
  'docker/dockerfile-upstream:master',
])('the frontend %s is supported', (frontend) => {
  expect(plan(`# syntax=${frontend}\n# check=skip=all\nFROM a`).stages).toHaveLength(1)
})

test('a late directive is a comment', () => {
  expect(plan('# comment\n# syntax=foo\nFROM a').stages).toHaveLength(1)
  expect(plan('\n# escape=`\nFROM a\nRUN x \\\n y').stages[0]?.instructions).toHaveLength(1)
})
