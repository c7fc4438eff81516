// A runtime that may reach one host, with a key that never is inside.
//
//   npx node examples/reach-one-host.ts api.example.com
import { Holt } from '@holt/sdk'

const [host = 'api.example.com'] = process.argv.slice(2)
const holt = new Holt()
await using secret = await keptSecret()
await using runtime = await holt.runtimes.create({
  network_policy: { allow: [{ host, methods: ['GET'] }] },
  secrets: [secret.name],
})

const ask = (url: string) =>
  runtime.commands.run(`curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $EXAMPLE_KEY" ${url}`)
console.log(
  'inside the key is',
  (await runtime.commands.run('echo $EXAMPLE_KEY')).stdout.includes('real') ? 'real' : 'a placeholder',
)
console.log('the host answers', (await ask(`https://${host}/`)).stdout)
console.log('another one', (await ask('https://other.example.com/')).exit_code === 0 ? 'answers' : 'cannot be reached')
for (const { host: denied, ports } of (await runtime.network.suggest()).add)
  console.log('it would need', denied, ports.join(','))

/** A secret for this run only. */
async function keptSecret() {
  const made = await holt.secrets.create({
    name: `example-${Date.now()}`,
    value: 'real-value-0123456789',
    hosts: [host],
    header: 'authorization',
    format: 'Bearer {value}',
    env_name: 'EXAMPLE_KEY',
  })
  return { name: made.name, [Symbol.asyncDispose]: () => holt.secrets.delete(made.secret_id) }
}
