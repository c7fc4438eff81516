import type { RuntimeNetwork } from '@holt/protocol'
import { GitFailed } from './git-failed.ts'
import { type RemoteAddress, remoteAddress } from './remote-address.ts'
import { quoted } from './shell-words.ts'

type RuntimeSecret = RuntimeNetwork['secrets'][number]

/** A secret of a runtime as credentials for a host. */
export interface GitSecret {
  readonly name: string
  /** The variable of the runtime that holds the placeholder, or the value. */
  readonly variable: string
}

/**
 * Finds a secret of a runtime and checks that it can be used for a repository. Throws `GitFailed`
 * with the missing step otherwise: a placeholder that the gateway does not replace only looks like
 * a wrong password.
 */
export function findSecret(network: RuntimeNetwork, name: string, url: string): GitSecret {
  const address = remoteAddress(url)
  if (address === null || !address.isSecure)
    throw refusal('secret needs an address that begins with https://.', 'Give the https address of the repository.')
  if (address.hasPassword)
    throw refusal('url contains a password, and secret was given.', 'Remove the user and the password from url.')
  const secret = network.secrets.find((held) => held.name === name)
  if (secret === undefined) throw notHeld(network, name)
  if (!secret.available)
    throw refusal(`The secret ${name} was deleted.`, 'Store it again, and make a new runtime with it.')
  if (!secret.inside) checkUse(secret, address)
  return { name, variable: secret.env_name }
}

function checkUse(secret: RuntimeSecret, { host }: RemoteAddress): void {
  const { name, hosts, header } = secret
  if (!hosts.some((one) => covers(one, host)))
    throw refusal(
      `The secret ${name} is not for ${host}, but for ${hosts.join(', ')}.`,
      `Add the host: holt secret set ${name} --host ${host}.`,
    )
  if (header !== 'authorization')
    throw refusal(
      `The secret ${name} is for the header ${header}. Git sends the header authorization.`,
      'Store the token in a secret without header and format.',
    )
}

/** Returns true if the host of a secret, such as `*.example.com`, covers a host. */
function covers(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : pattern === host
}

function notHeld({ runtime_id, secrets }: RuntimeNetwork, name: string): GitFailed {
  const others = secrets.length === 0 ? 'no secrets' : `the secrets ${secrets.map((held) => held.name).join(', ')}`
  return refusal(
    `The runtime ${runtime_id} does not have the secret ${name}. It has ${others}.`,
    `Create the runtime with the secret: secrets ["${name}"], or holt create --secret ${name}.`,
  )
}

function refusal(message: string, hint: string): GitFailed {
  return new GitFailed({ reason: 'credentials', message, hint })
}

/**
 * Returns settings that send the token with the first request. A helper prints it
 * (gitcredentials(7)), so it is in no argument, address or file. The empty helper removes those of
 * the runtime's own settings.
 */
export function credentialSettings({ variable }: GitSecret, username: string): readonly string[] {
  const print = `printf 'username=%s\\npassword=%s\\n' ${quoted([username])} "$${variable}"`
  return [
    ['http.proactiveAuth', 'basic'],
    ['credential.helper', ''],
    ['credential.helper', `!f() { test "$1" = get && ${print}; }; f`],
  ].flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
