import type { BuildSettings } from '../contract/build-contract.ts'
import { BuilderError } from '../errors.ts'
import { environmentOf, workdirOf } from '../image/image-settings.ts'
import type { ImageConfig } from '../image/read-layout.ts'

/** The PATH that container engines give an image without one. */
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const defaultShell = ['/bin/sh', '-c']
const maxLabelBytes = 256 * 1024
const maxUserBytes = 256

/** Returns the whole configuration of an image, as the steps of a build see it. */
export function buildSettingsOf(config: ImageConfig): BuildSettings {
  const { user, shell, labels, onBuild } = config
  if (user.includes('\0') || Buffer.byteLength(user) > maxUserBytes)
    throw new BuilderError('image_invalid', "The image's USER is not a user.")
  if (Buffer.byteLength(JSON.stringify(labels)) > maxLabelBytes)
    throw new BuilderError('image_too_large', `The image's labels have more than ${maxLabelBytes} bytes.`)
  const rest = Buffer.byteLength(JSON.stringify([config.ports, shell, onBuild]))
  if (rest > maxLabelBytes)
    throw new BuilderError(
      'image_too_large',
      `The image's ports, SHELL and ONBUILD have more than ${maxLabelBytes} bytes.`,
    )
  return {
    env: { PATH: defaultPath, ...environmentOf(config.env, new Set()) },
    user,
    workdir: workdirOf(config.workdir),
    shell: shell.length === 0 ? defaultShell : shell,
    labels,
    ports: config.ports.filter((port) => /^\d{1,5}(?:\/(?:tcp|udp|sctp))?$/.test(port)),
    onBuild,
  }
}
