// Asks a host over TLS, inside a runtime and directly alike, and prints the milliseconds of each request as JSON.
import https from 'node:https'

const { host, name, port, ca, clients, requests, path } = JSON.parse(process.argv[2])

function ask(agent) {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const options = { agent, host, port, servername: name, path, headers: { host: name }, ...(ca ? { ca } : {}) }
    https
      .get(options, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`))
        answer
          .resume()
          .once('end', () => resolve(performance.now() - startedAt))
          .once('error', reject)
      })
      .once('error', reject)
  })
}

async function client() {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
  const connecting = await ask(agent)
  const times = []
  for (let done = 0; done < requests; done++) times.push(await ask(agent))
  agent.destroy()
  return { connecting, times }
}

const all = await Promise.all(Array.from({ length: clients }, client))
const connecting = all.map((each) => each.connecting)
process.stdout.write(JSON.stringify({ connecting, times: all.flatMap((each) => each.times) }))
