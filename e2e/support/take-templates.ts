import { service } from './facts.ts'
import { mainFile, nodeBinary } from './service-process.ts'

/**
 * Returns a script of Bash that gives an empty state directory the rows and files of the service
 * under test: making a base template takes minutes. `dump` is a file that it writes. It must be
 * run with the settings of the new installation.
 */
export function takeTemplates(state: string, dump: string): string {
  const holtd = `${nodeBinary()} ${mainFile}`
  return `
set -e
HOLT_STATE_DIR=${service.stateDir} HOLT_PORT=${service.port} ${holtd} export ${dump}
for each in images checkpoints guests; do cp -al ${service.stateDir}/$each ${state}/; done
cp -p ${service.stateDir}/master-keys.json ${state}/
${holtd} import ${dump}
`
}
