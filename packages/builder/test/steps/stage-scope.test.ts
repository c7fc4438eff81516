import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BuildSettings } from '../../src/contract/build-contract.ts'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { wordLimits } from '../../src/dockerfile/word-account.ts'
import { BuildArgs, StageScope } from '../../src/steps/stage-scope.ts'
import { Variables } from '../../src/steps/variables.ts'

const empty: BuildSettings = { env: {}, user: '', workdir: '/', shell: [], labels: {}, ports: [], onBuild: [] }

/** Follows the settings of a Dockerfile's last stage. */
function follow(
  text: string,
  { args = {}, base = empty }: { args?: Record<string, string>; base?: BuildSettings } = {},
) {
  const plan = planDockerfile(text, { buildArgs: args })
  const build = new BuildArgs(args, plan)
  const scope = new StageScope({ settings: base, args: new Map() }, build, plan.escape)
  for (const instruction of plan.stages.at(-1)?.instructions ?? []) {
    if (scope.follow(instruction)) continue
    if (instruction.type === 'workdir') scope.changeDirectory(instruction.path)
  }
  return { scope, build }
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

test.each<[string, string, Record<string, string>, Record<string, string>]>([
  ['has a PATH where the image has none', 'FROM scratch', {}, {}],
  ['puts variables in', `FROM scratch\nENV A=1\nENV B=$A-\${A}2`, {}, { A: '1', B: '1-12' }],
  ['sees in one ENV what was before it', 'FROM scratch\nENV A=1\nENV A=2 B=$A', {}, { A: '2', B: '1' }],
  ['extends the PATH', 'FROM scratch\nENV PATH=/opt/bin:$PATH', {}, { PATH: `/opt/bin:${defaultPath}` }],
  ['takes the default of an ARG', 'FROM scratch\nARG A=d\nENV B=$A', {}, { A: 'd', B: 'd' }],
  ['takes what is given for an ARG', 'FROM scratch\nARG A=d\nENV B=$A', { A: 'g' }, { A: 'g', B: 'g' }],
  [
    'lets ENV win over ARG, whichever comes first',
    'FROM scratch\nENV A=e\nARG A=d\nENV B=$A',
    { A: 'g' },
    { A: 'e', B: 'e' },
  ],
  ['knows no ARG before FROM that is not declared', 'ARG A=d\nFROM scratch\nENV B=x$A', {}, { B: 'x' }],
  ['knows one that is declared', 'ARG A=d\nFROM scratch\nARG A\nENV B=x$A', {}, { A: 'd', B: 'xd' }],
  ['prefers its own default', 'ARG A=d\nFROM scratch\nARG A=own\nENV B=$A', {}, { A: 'own', B: 'own' }],
  ['puts variables into defaults', `FROM scratch\nARG A=1\nARG B=\${A}2`, {}, { A: '1', B: '12' }],
  ['has no value for an ARG without one', `FROM scratch\nARG A\nENV B=\${A:-none}`, {}, { B: 'none' }],
])('%s', (_, text, args, env) => {
  expect(follow(text, { args }).scope.commandEnv).toEqual({ PATH: defaultPath, ...env })
})

test('keeps ARG out of the settings', () => {
  const { settings } = follow('FROM scratch\nARG A=1\nENV B=2').scope
  expect(settings.env).toEqual({ PATH: defaultPath, B: '2' })
})

test('has the platform arguments once they are declared', () => {
  expect(follow('FROM scratch\nARG TARGETOS').scope.commandEnv.TARGETOS).toBe('linux')
  expect(follow('FROM scratch').scope.commandEnv.TARGETOS).toBeUndefined()
})

test('gives proxy variables to commands without an ARG, and reports unused arguments', () => {
  const { build } = follow('FROM scratch\nARG A', { args: { A: '1', B: '2', HTTPS_PROXY: 'http://proxy' } })
  expect([...build.proxies]).toEqual([['HTTPS_PROXY', 'http://proxy']])
  expect(build.unused).toEqual(['B'])
})

test('follows WORKDIR relative to the one before, and USER, SHELL, LABEL, EXPOSE', () => {
  const { scope } = follow(`FROM scratch
ENV D=two P="80 443/udp"
WORKDIR /one
WORKDIR $D/../three
USER app:$D
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
LABEL a=1 "b c"="$D"
EXPOSE 8080 8000-8002/UDP $P`)
  expect(scope.settings).toMatchObject({
    workdir: '/one/three',
    user: 'app:two',
    shell: ['/bin/bash', '-o', 'pipefail', '-c'],
    labels: { a: '1', 'b c': 'two' },
    ports: ['8080/tcp', '8000/udp', '8001/udp', '8002/udp', '80/tcp', '443/udp'],
  })
})

test('begins with the settings of the image', () => {
  const base = { ...empty, env: { PATH: '/bin', A: 'image' }, user: 'app', workdir: 'relative', labels: { x: 'y' } }
  const { scope } = follow('FROM scratch\nENV B=$A', { base })
  expect(scope.settings).toMatchObject({
    env: { PATH: '/bin', A: 'image', B: 'image' },
    user: 'app',
    workdir: '/relative',
  })
})

test.each(['FROM scratch\nEXPOSE 99999', 'FROM scratch\nARG U\nUSER "$U"', 'FROM scratch\nEXPOSE 20-10'])(
  'refuses %j',
  (text) => {
    expect(() => follow(text)).toThrow(expect.objectContaining({ code: 'dockerfile_invalid' }))
  },
)

test('expands variables in a text and keeps its quotes and escapes', () => {
  const { scope } = follow('FROM scratch\nENV A=1')
  expect(scope.expandText(`a="$A" b='$A' c=\\$A d=\${A} e=\\n f=\\\\ g=\\"\n`)).toBe(
    `a="1" b='1' c=$A d=1 e=\\n f=\\ g=\\"\n`,
  )
})

test('accepts property names of objects', () => {
  const { scope } = follow('FROM scratch\nENV __proto__=1 constructor=2\nENV B=$__proto__$constructor')
  expect(Object.entries(scope.commandEnv)).toContainEqual(['B', '12'])
})

test('patterns of many steps share one budget', () => {
  const text = [
    'FROM scratch',
    `ARG X=${'a'.repeat(200_000)}`,
    ...Array.from({ length: 20 }, (_, at) => `ARG Y${at}=\${X//*a*a*b/z}`),
  ]
  const plan = planDockerfile(text.join('\n'))
  const build = new BuildArgs({}, plan)
  const stage = new StageScope({ settings: empty, args: new Map() }, build, plan.escape)
  const failed = (plan.stages[0]?.instructions ?? []).filter((instruction) => {
    try {
      stage.follow(instruction)
      return false
    } catch {
      return true
    }
  })
  expect(failed).toHaveLength(20)
  expect(build.account.spent.steps).toBeLessThan(wordLimits.steps + 300_000)
})

test('environments of commands, stages and ports count in the budget', () => {
  const many = Array.from({ length: 1000 }, (_, at) => `A${at}=`).join(' ')
  const { scope, build } = follow(`FROM scratch\n${`ARG ${many}\n`.repeat(2)}`)
  const before = build.account.spent.characters
  expect(Object.keys(scope.commandEnv)).toHaveLength(1001)
  const each = build.account.spent.characters - before
  expect(each).toBeGreaterThan(100_000)
  expect(() => {
    for (let at = 0; at * each < 2 * wordLimits.characters; at += 1) scope.commandEnv
  }).toThrow(/characters together/)
  const ports = `ARG P="${'1-1000 '.repeat(100_000)}"`
  const exposing = () => follow(`FROM scratch\n${ports}\nEXPOSE $P`)
  expect(exposing).toThrow(/characters together/)
})

test('the size of all variables equals that of their JSON, after each change', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '\ud800', '\u{1f680}'), maxLength: 6 })
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 12 }), (changes) => {
      const variables = new Variables(changes.slice(0, 2))
      for (const [name, value] of changes.slice(2)) variables.set(name, value)
      const values = new Map(changes)
      expect(variables.values).toEqual(values)
      expect(variables.jsonBytes).toBe(Buffer.byteLength(JSON.stringify([...values])))
      expect(variables.size).toBe([...values].reduce((sum, [name, value]) => sum + name.length + value.length + 128, 0))
    }),
    { numRuns: 30 },
  )
})
