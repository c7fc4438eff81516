import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addBuildOptions, type BuildOptions, buildBody } from '../../src/arguments/build-options.ts'
import { parseBuildSecret } from '../../src/arguments/build-secret.ts'

/** The body that a command line asks for. */
async function bodyFor(args: readonly string[]): Promise<unknown> {
  const command = addBuildOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  await command.parseAsync([...args], { from: 'user' })
  return buildBody(command.opts<BuildOptions>())
}

test('absent options are not sent', async () => {
  expect(await bodyFor(['-t', 'web'])).toEqual({ name: 'web' })
})

test('begins with a snapshot', async () => {
  const steps = [{ run: 'pip check' }]
  expect(await bodyFor(['-t', 'web', '--from-snapshot', 'before', '--run', 'pip check'])).toEqual({
    name: 'web',
    from_snapshot: 'before',
    steps,
  })
})

test.each([
  [[], "required option '-t, --tag <name[:tag]>' not specified"],
  [['-t', 'a:b:c'], 'NAME or NAME:TAG'],
  [['-t', ':b'], 'NAME or NAME:TAG'],
  [['-t', 'a', '--run', 'x'], '--run and --copy need'],
  [['-t', 'a', '--from-image', 'x', '-f', 'y'], '-f and --target need a Dockerfile'],
  [['-t', 'a', '--from-image', 'x', '--from-template', 'y'], 'Give exactly one of'],
  [['-t', 'a', '--from-snapshot', 'x', '--from-template', 'y'], 'Give exactly one of'],
  [['-t', 'a', '--from-image', 'x', '--copy', 'y'], 'SOURCE:DESTINATION'],
  [['-t', 'a', '--secret', 'token'], 'id=ID,src=FILE'],
  [['-t', 'a', '--secret', 'id=a,src=/nowhere'], 'the file /nowhere is not there'],
  [['-t', 'a', '--secret', 'id=a,src=/'], 'the file / cannot be read'],
  [['-t', 'a', '--secret', 'id=a,env=HOLT_NOT_SET'], 'the variable HOLT_NOT_SET is not set'],
  [['-t', 'a', '--policy', 'a', '--include', 'npm'], 'in one way'],
  [['-t', 'a', '--no-network', '--allow', 'a.example.com'], 'in one way'],
  [['-t', 'a', '--registry', 'a'], 'need --registry-user'],
  [['-t', 'a', '-f', '-', '--registry-user', 'me'], 'stdin is the Dockerfile'],
])('%j is wrong usage', async (args, told) => {
  await expect(bodyFor(args)).rejects.toThrow(told)
})

test.each([
  ['id=a', { id: 'a' }],
  ['id=a,src=b', { id: 'a', src: 'b' }],
  ['id=a,source=b=c', { id: 'a', src: 'b=c' }],
  ['type=file,id=a,src=b', { id: 'a', src: 'b' }],
  ['id=a,env=B', { id: 'a', env: 'B' }],
  ['type=env,id=a', { id: 'a', env: 'a' }],
  ['type=env,id=a,src=B', { id: 'a', env: 'B' }],
])('the secret %s is %j', (text, secret) => {
  expect(parseBuildSecret(text)).toEqual(secret)
})

test.each(['', 'a', 'id=', 'src=b', 'id=a,b', 'id=a,src=b,env=C', 'id=a,type=ssh', 'id=a,type=file,env=B'])(
  '%j is not a valid secret',
  (text) => {
    expect(() => parseBuildSecret(text)).toThrow('id=ID')
  },
)
