// Builds a template with the published client for JavaScript. It is given the file of the package, the
// kind of the template, its name, an image and a directory with files. Prints the result as JSON.
import { pathToFileURL } from 'node:url'

const [, , packageFile, kind, name, image, directory] = process.argv
const { Template, waitForPort } = await import(pathToFileURL(packageFile).href)

const templates = {
  image: () =>
    Template({ fileContextPath: directory })
      .fromImage(image)
      .copy('app', '/app')
      .copy('app/sub/*', 'py/', { user: 'root', mode: 0o600 })
      .setEnvs({ GREETING: 'hello', PATH: '/extra:$PATH' })
      .runCmd('echo "$GREETING $FROM_IMAGE $PATH $(id -un) $PWD" >said')
      .runCmd('id -un >/root/who', { user: 'root' })
      .setWorkdir('/srv/work')
      .runCmd('touch mine'),
  served: () =>
    Template()
      .fromBaseImage()
      .runCmd('mkdir -p site && echo served >site/index.html')
      .setWorkdir('/home/user/site')
      .setStartCmd('python3 -m http.server 8000', waitForPort(8000)),
  fails: () => Template().fromTemplate('base').runCmd('true').runCmd('echo no >&2; exit 7'),
}

const logs = []
const onBuildLogs = ({ message }) => void logs.push(message)
try {
  const { buildId } = await Template.build(templates[kind](), name, { cpuCount: 1, memoryMB: 512, onBuildLogs })
  const exists = await Template.exists(name)
  console.log(JSON.stringify({ buildId, exists, logs, error: null }))
} catch (error) {
  console.log(JSON.stringify({ buildId: null, exists: null, logs, error: error.message }))
}
