// biome-ignore-all lint/suspicious/noTemplateCurlyInString: words of Dockerfiles have variables.
import { DockerfileCheck } from '@holt/protocol'
import { DockerfileParser } from 'dockerfile-ast'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkDockerfile, planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { BuildError } from '../../src/errors.ts'

test('reports the effect of each line in a build', () => {
  const check = checkDockerfile(
    [
      '# syntax=x',
      'FROM holt/base-small AS a',
      'RUN x \\',
      '  y',
      'CMD z',
      'FROM nginx:1',
      'COPY --from=a b c',
      'COPY --from=redis b c',
      'RUN --network=host x',
    ].join('\n'),
  )
  expect(check.lines.map(({ line, end_line, instruction, verdict }) => [line, end_line, instruction, verdict])).toEqual(
    [
      [1, 1, '# syntax', 'refused'],
      [2, 2, 'FROM', 'supported'],
      [3, 4, 'RUN', 'supported'],
      [5, 5, 'CMD', 'ignored'],
      [6, 6, 'FROM', 'supported'],
      [7, 7, 'COPY', 'supported'],
      [8, 8, 'COPY', 'supported'],
      [9, 9, 'RUN', 'refused'],
    ],
  )
  expect(check).toMatchObject({ ok: false, images: ['nginx:1', 'redis'], templates: ['base-small'] })
  for (const { verdict, reason, fix } of check.lines) {
    if (verdict === 'supported') expect([reason, fix]).toEqual([null, null])
    else expect(reason).toMatch(/\.$/)
    if (verdict === 'refused') expect(fix).toMatch(/\.$/)
  }
})

test('is ok if a build would start', () => {
  expect(checkDockerfile('FROM a\nCMD x')).toMatchObject({ ok: true, images: ['a'] })
  expect(checkDockerfile('ARG I\nFROM $I', { buildArgs: { I: 'img' } })).toMatchObject({ ok: true, images: ['img'] })
})

test('warns of build arguments that no ARG declares', () => {
  const buildArgs = { used: '1', nope: '2', HTTP_PROXY: 'p', TARGETARCH: 'x' }
  expect(checkDockerfile('FROM a\nARG used', { buildArgs }).warnings).toEqual([
    'No ARG declares these build arguments: nope.',
  ])
})

test('an unknown target and cyclic stages are not ok', () => {
  expect(checkDockerfile('FROM a AS b', { target: 'c' })).toMatchObject({
    ok: false,
    warnings: [expect.stringContaining('c')],
  })
  expect(checkDockerfile('FROM a AS b\nCOPY --from=b c d')).toMatchObject({
    ok: false,
    lines: [{ verdict: 'supported' }, { line: 2, verdict: 'refused', reason: expect.stringContaining('itself') }],
  })
})

const lines = [
  '# syntax=docker/dockerfile:1',
  '# escape=`',
  'ARG V=1',
  'FROM debian:$V AS base',
  'FROM base',
  'RUN --mount=type=cache,target=/x,id=a apt-get update',
  'RUN --mount=type=secret,id=a,required cat /run/secrets/a',
  'RUN a && \\',
  '  b',
  'RUN <<EOF',
  'EOF',
  'RUN cat <<-"A" 3<<B > x',
  '\tA',
  'B',
  'RUN ["a", "b"]',
  'COPY --from=base --chown=1:2 --chmod=755 a b c/',
  'COPY <<f /x',
  'f',
  'ADD --checksum=sha256:00 https://example.com/x.git /y',
  'ENV a="b c" d=$e',
  'ENV x y z',
  'LABEL a=b',
  'EXPOSE 80/tcp',
  'SHELL ["sh", "-c"]',
  'USER a:b',
  'WORKDIR ${x:-/y}',
  'CMD x',
  'ONBUILD RUN <<E',
  '# comment',
  '',
]
const noise = fc.constantFrom(
  '\\',
  '\\\n',
  '`',
  '"',
  "'",
  '<<',
  '<<X',
  '$',
  '${',
  '}',
  '=',
  '--',
  '--from=',
  ',',
  '[',
  ']',
  '\0',
  '\r',
  '\n',
  '\t',
  ' ',
  '#',
  '\uFEFF',
  '\u2028',
  'ü',
  '🚀',
)

test('any text gets a verdict for every line, in a short time', () => {
  let [good, bad] = [0, 0]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...lines), { maxLength: 12 }),
      fc.array(fc.record({ at: fc.nat(), text: noise, remove: fc.nat(5) }), { maxLength: 4 }),
      fc.boolean(),
      (chosen, changes, begun) => {
        let text = (begun ? ['FROM a', ...chosen] : chosen).join('\n')
        for (const { at, text: added, remove } of changes) {
          const place = at % (text.length + 1)
          text = text.slice(0, place) + added + text.slice(place + remove)
        }
        const check = DockerfileCheck.parse(checkDockerfile(text))
        // Instructions follow each other, and none is within another.
        let end = 0
        for (const { line, end_line, instruction, text: shown } of check.lines) {
          // Directives stand before all, and so does the FROM that is missing.
          if (instruction.startsWith('#') || shown === '') continue
          expect(line).toBeGreaterThan(end)
          expect(end_line).toBeGreaterThanOrEqual(line)
          end = end_line
        }
        try {
          const plan = planDockerfile(text)
          expect(check.ok).toBe(true)
          expect(plan.lines).toEqual(check.lines)
          good += 1
        } catch (error) {
          if (!(error instanceof BuildError)) throw error
          expect(check.ok).toBe(false)
          bad += 1
        }
      },
    ),
    { numRuns: 3000 },
  )
  expect(Math.min(good, bad)).toBeGreaterThan(30)
})

test('splits plain Dockerfiles like another parser', () => {
  const plain = fc.constantFrom(
    'RUN a \\\n  b',
    'RUN <<EOF\nFROM x\n# y\nEOF',
    'RUN <<-EOF\n\tx\n\tEOF',
    'COPY <<a <<b /c/\n1\na\n2\nb',
    'ENV a=b \\\n# c\n c=d',
    '# comment',
    '',
    'CMD ["x"]',
    '  USER x',
    'LABEL a="b \\\n c"',
    'WORKDIR /x',
  )
  fc.assert(
    fc.property(fc.array(plain, { maxLength: 15 }), (parts) => {
      const text = ['FROM a', ...parts].join('\n')
      const theirs = DockerfileParser.parse(text).getInstructions()
      expect(
        checkDockerfile(text).lines.map(({ line, end_line, instruction }) => [line, end_line, instruction]),
      ).toEqual(theirs.map((one) => [one.getRange().start.line + 1, one.getRange().end.line + 1, one.getKeyword()]))
    }),
    { numRuns: 300 },
  )
})

const million = 1_000_000
test.each([
  ['one line', `RUN ${'x'.repeat(million)}`],
  ['spaces', `RUN x${' '.repeat(million)}y`],
  ['escapes', `RUN x${'\\'.repeat(million)}`],
  ['escapes and spaces', `RUN ${'\\ '.repeat(million / 2)}`],
  ['carriage returns', `RUN ${'\r'.repeat(million)}x`],
  ['quotes', `ENV a=${'"'.repeat(million)}`],
  ['single quotes', `RUN << ${"'".repeat(million - 1)}`],
  ['dollars', `ARG a=${'$'.repeat(million)}`],
  ['braces', `ARG a=${'${a:-'.repeat(million / 5)}`],
  ['continued lines', 'RUN a\\\n'.repeat(million / 7)],
  ['empty continued lines', `RUN a\\\n${'\n'.repeat(million)}`],
  ['comments', '#\n'.repeat(million / 2)],
  ['directives', '# check=x\n'.repeat(million / 10)],
  ['unknown instructions', 'X\n'.repeat(million / 2)],
  ['here-documents', `RUN ${'<<A '.repeat(million / 8)}\n${'A\n'.repeat(million / 8)}`],
  ['one that never ends', 'RUN <<A\n'.repeat(million / 8)],
  ['brackets', `RUN ${'['.repeat(million)}`],
  ['flags', `RUN ${'--mount=type=tmpfs,target=/x '.repeat(million / 30)}`],
  ['fields', `RUN --mount=type=tmpfs${',target=/x'.repeat(million / 10)} y`],
  ['stages', 'FROM a AS b\n'.repeat(million / 12)],
  ['stages of stages', Array.from({ length: 30_000 }, (_, at) => `FROM s${at} AS s${at + 1}`).join('\n')],
  ['the keyword', 'x'.repeat(million)],
])('a megabyte of %s is parsed in linear time', (_, text) => {
  // The bound of the test itself: what is quadratic takes hours.
  const check = checkDockerfile(`ARG a\nFROM a\n${text}`)
  expect(JSON.stringify(check).length).toBeLessThan(8 * million)
})
